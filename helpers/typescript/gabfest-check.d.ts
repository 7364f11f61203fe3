/** What `gabfest schema transcript` describes. Later versions of gabfest add keys. */
export interface Transcript {
  schema: "gabfest.transcript/1";
  check: string;
  config: any;
  seed: number;
  scenario: { id: string; name: string; tags: string[]; vars: Record<string, unknown> };
  case: string;
  repeat: number;
  step: number;
  turn?: number;
  opening: { role: "system" | "user" | "agent" | "tool"; text: string }[];
  turns: Turn[];
  end: {
    stop: string | null;
    /** The simulated user's goal. What the user believes proves nothing. */
    goal?: { id: string; text: string; believed_done: boolean }[];
    state: any;
  };
}

export interface Turn {
  n: number;
  step: number;
  origin: "scripted" | "simulated" | "program";
  user: string;
  agent: string | null;
  exit_code?: number;
  tool_calls: { id: string; name: string; arguments: any; result: string | null }[];
  /** What the simulated user did with its own tools before it spoke. */
  user_calls?: { id: string; name: string; arguments: any; result: string | null }[];
  actions: string[];
  /** Only with `sees: [times]`. */
  times?: { started_ms: number; duration_ms: number; first_token_ms: number | null };
}

export interface Answer {
  /** `null`: the check cannot tell. */
  pass?: boolean | null;
  /** From 0 to 1. Without `pass`, the scenario needs a `threshold`. */
  score?: number;
  reason?: string;
  /** The check does not apply to this transcript, and does not count. */
  not_applicable?: boolean;
  evidence?: string;
  findings?: { id: string; pass?: boolean | null; score?: number; reason?: string }[];
}

export type Returned = boolean | null | number | [boolean | null | number, string] | Answer;

export interface Check {
  /** The answer as gabfest reads it. Use it in your own tests. */
  answer(transcript: Transcript): Promise<Answer>;
  /** Answers gabfest until it is done: over stdin and stdout, or over HTTP with `--http PORT`. */
  run(argv?: string[]): Promise<void>;
}

export function check(decide: (transcript: Transcript, config: any) => Returned | Promise<Returned>): Check;
export function complete(answer: Returned): Answer;
