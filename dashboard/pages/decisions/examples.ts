/** Decisions to start from. */
export type Example = Readonly<{
  id: string;
  label: string;
  state: unknown;
  questions: Readonly<Record<string, unknown>>;
}>;

export const examples: readonly Example[] = [
  {
    id: 'support',
    label: 'Route a support ticket',
    state: {
      ticket: {
        subject: 'Charged twice this month',
        body: 'My card shows two payments on the 3rd. Please refund one of them before Friday.',
        customer: { plan: 'business', years: 4 },
      },
    },
    questions: {
      team: {
        type: 'choice',
        instructions: 'Which team should answer this ticket?',
        criteria: {
          billing: 'Payments, invoices, refunds',
          technical: 'Errors, outages, how something works',
          sales: 'Plans, upgrades, offers',
        },
      },
      urgency: {
        type: 'score',
        instructions: 'How urgent is the ticket?',
        criteria: ['Can wait a week', 'Within two days', 'Today', 'At once'],
      },
      wants_refund: { type: 'noul', instructions: 'The customer asks for money back.' },
    },
  },
  {
    id: 'moderation',
    label: 'Check a comment',
    state: {
      comment: 'This is the worst film I have ever seen, and I have seen them all.',
      place: 'film reviews',
    },
    questions: {
      action: {
        type: 'choice',
        instructions: 'What should happen to this comment?',
        criteria: {
          publish: 'It follows the rules of the place',
          review: 'A person should look at it',
          remove: 'It attacks people or is spam',
        },
      },
      is_spam: { type: 'noul', instructions: 'The comment is advertising or repeated text.' },
    },
  },
  {
    id: 'quality',
    label: 'Rate an answer',
    state: {
      question: 'How do I cancel my subscription?',
      answer:
        'Open Settings, choose Billing, and press “Cancel subscription”. It ends with the current month.',
    },
    questions: {
      helpfulness: {
        type: 'score',
        instructions: 'How well does the answer help the person who asked?',
        criteria: ['Not at all', 'A little', 'Mostly', 'Completely'],
      },
    },
  },
];

/** Removes the differences in white space; null for invalid JSON. */
export function normalizedJson(json: string): string | null {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return null;
  }
}

/** The example that the draft still equals; null once it was changed. */
export function exampleIn(stateJson: string, questionsJson: string): Example | null {
  const state = normalizedJson(stateJson);
  const questions = normalizedJson(questionsJson);
  return (
    examples.find(
      (example) => JSON.stringify(example.state) === state && JSON.stringify(example.questions) === questions,
    ) ?? null
  );
}
