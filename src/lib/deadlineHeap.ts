/** An element that knows its place in the heap; -1 when it is in none. */
export interface HeapNode {
  at: number;
  index: number;
}

/**
 * A binary heap, smallest `at` first, from which any element can be removed: O(log n) each. Most deadlines are removed
 * before they are due; a heap that only marked them would keep every job of the last timeout in memory.
 */
export class DeadlineHeap<T extends HeapNode> {
  readonly #nodes: T[] = [];

  peek(): T | undefined {
    return this.#nodes[0];
  }

  add(node: T): void {
    this.#nodes.push(node);
    node.index = this.#nodes.length - 1;
    this.#up(node);
  }

  /** Remove `node`; does nothing when it is in no heap. */
  remove(node: T): void {
    const { index } = node;
    if (index < 0) return;
    const last = this.#nodes.pop();
    node.index = -1;
    if (last === undefined || last === node) return;
    this.#place(last, index);
    this.#up(last);
    this.#down(last);
  }

  #place(node: T, index: number): void {
    this.#nodes[index] = node;
    node.index = index;
  }

  #up(node: T): void {
    while (node.index > 0) {
      const above = (node.index - 1) >> 1;
      const parent = this.#nodes[above];
      if (parent === undefined || parent.at <= node.at) return;
      this.#place(parent, node.index);
      this.#place(node, above);
    }
  }

  #down(node: T): void {
    for (;;) {
      const left = this.#nodes[2 * node.index + 1];
      const right = this.#nodes[2 * node.index + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= node.at) return;
      const { index } = child;
      this.#place(child, node.index);
      this.#place(node, index);
    }
  }
}
