/** The run that a job belongs to, and its line there. */
export interface WireRunLine {
  /** Of the run. */
  name: string;
  line_id: string;
}
