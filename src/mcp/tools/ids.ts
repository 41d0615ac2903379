import { object, string } from 'yup';
import { nameLengthMax } from '../../domain/limits.ts';

/** The arguments of a tool about one job. */
export const idSchema = object({
  id: string().defined().min(1).max(nameLengthMax).meta({ description: 'Id of the job.' }),
}).noUnknown();
