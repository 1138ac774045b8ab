/** Texts to measure tokenizers with: ordinary ones, and others that only an attacker would write. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../chaos/random.ts';

export type Sample = Readonly<{ kind: string; isOrdinary: boolean; text: string }>;

const root = join(import.meta.dir, '..');
const file = (path: string) => readFileSync(join(root, path), 'utf8').slice(0, 8_000);

/** From the Universal Declaration of Human Rights, articles 1 to 3. */
export const declarations = {
  English:
    'All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood. Everyone is entitled to all the rights and freedoms set forth in this Declaration, without distinction of any kind, such as race, colour, sex, language, religion, political or other opinion. Everyone has the right to life, liberty and security of person.',
  German:
    'Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen. Jeder hat Anspruch auf die in dieser Erklärung verkündeten Rechte und Freiheiten ohne irgendeinen Unterschied, etwa nach Rasse, Hautfarbe, Geschlecht, Sprache, Religion, politischer oder sonstiger Überzeugung. Jeder hat das Recht auf Leben, Freiheit und Sicherheit der Person.',
  Vietnamese:
    'Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình anh em. Mọi người đều được hưởng tất cả những quyền và tự do nêu trong Bản Tuyên ngôn này, không phân biệt chủng tộc, màu da, giới tính, ngôn ngữ, tôn giáo. Mọi người đều có quyền sống, tự do và an toàn cá nhân.',
  Greek:
    'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης. Κάθε άνθρωπος δικαιούται να επικαλείται όλα τα δικαιώματα και όλες τις ελευθερίες. Κάθε άτομο έχει δικαίωμα στη ζωή, την ελευθερία και την προσωπική του ασφάλεια.',
  Russian:
    'Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства. Каждый человек должен обладать всеми правами и всеми свободами, провозглашенными настоящей Декларацией, без какого бы то ни было различия. Каждый человек имеет право на жизнь, на свободу и на личную неприкосновенность.',
  Hebrew:
    'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה. כל אדם זכאי לזכויות ולחרויות שנקבעו בהכרזה זו ללא הפליה כלשהיא. כל אדם יש לו הזכות לחיים, לחרות ולבטחון אישי.',
  Arabic:
    'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق، وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء. لكل إنسان حق التمتع بكافة الحقوق والحريات الواردة في هذا الإعلان، دون أي تمييز، كالتمييز بسبب العنصر أو اللون أو الجنس أو اللغة أو الدين أو الرأي السياسي. لكل فرد الحق في الحياة والحرية وسلامة شخصه.',
  Hindi:
    'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए। सभी को इस घोषणा में सन्निहित सभी अधिकारों और आज़ादियों को प्राप्त करने का हक़ है। प्रत्येक व्यक्ति को जीवन, स्वाधीनता और वैयक्तिक सुरक्षा का अधिकार है।',
  Thai: 'มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในศักดิ์ศรีและสิทธิ ต่างในตนมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยจิตวิญญาณแห่งภราดรภาพ ทุกคนย่อมมีสิทธิและอิสรภาพทั้งปวงตามที่กำหนดไว้ในปฏิญญานี้ โดยปราศจากการแบ่งแยกไม่ว่าชนิดใด ทุกคนมีสิทธิในการมีชีวิต เสรีภาพ และความมั่นคงแห่งบุคคล',
  Chinese:
    '人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。人人有资格享有本宣言所载的一切权利和自由，不分种族、肤色、性别、语言、宗教、政治或其他见解、国籍或社会出身、财产、出生或其他身分等任何区别。人人有权享有生命、自由和人身安全。',
  Japanese:
    'すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。すべて人は、人種、皮膚の色、性、言語、宗教、政治上その他の意見、いかなる事由による差別をも受けることなく、この宣言に掲げるすべての権利と自由とを享有することができる。すべて人は、生命、自由及び身体の安全に対する権利を有する。',
  Korean:
    '모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다. 모든 사람은 인종, 피부색, 성, 언어, 종교, 정치적 또는 기타의 견해 등 어떠한 종류의 차별이 없이 이 선언에 규정된 모든 권리와 자유를 향유할 자격이 있다. 모든 사람은 생명과 신체의 자유와 안전에 대한 권리를 가진다.',
} as const;

const ordinary: ReadonlyMap<string, () => string> = new Map([
  ...Object.entries(declarations).map(([language, text]) => [language, () => text] as const),
  ['Markdown', () => file('docs/catalog.md')],
  ['TypeScript', () => file('src/models/model-schema.ts')],
  ['SQL', () => file('migrations/0001_initial.sql')],
  ['YAML', () => file('catalog.yaml')],
  ['JSON, indented', () => file('package-lock.json')],
  [
    'JSON, compact',
    () => JSON.stringify(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))).slice(0, 8_000),
  ],
]);

/** The order matters: they share one random generator. */
const extraordinary: ReadonlyMap<string, (chance: Chance) => string> = new Map<
  string,
  (chance: Chance) => string
>([
  ['base64', (chance) => Buffer.from(chance.bytes()).toString('base64')],
  ['hexadecimal', (chance) => Buffer.from(chance.bytes()).toString('hex')],
  ['UUIDs', () => Array.from({ length: 40 }, () => crypto.randomUUID()).join('\n')],
  ['digits', (chance) => chance.characters(0x30, 0x39)],
  ['numbers', (chance) => chance.many(() => `${Math.floor(chance.random.next() * 1e6) / 100},`)],
  ['random printable ASCII', (chance) => chance.characters(0x20, 0x7e)],
  ['control characters', (chance) => chance.characters(0x01, 0x1f)],
  ['spaces', () => ' '.repeat(2_000)],
  ['line breaks', () => '\n'.repeat(2_000)],
  ['spaces and line breaks', (chance) => chance.many(() => (chance.random.next() < 0.5 ? ' ' : '\n'))],
  ['random bytes read as UTF-8', (chance) => new TextDecoder().decode(chance.bytes())],
  ['emoji', (chance) => chance.characters(0x1f600, 0x1f64f)],
  ['emoji joined', () => '👩‍👩‍👧‍👦🏳️‍🌈👨🏽‍💻'.repeat(40)],
  ['flags', (chance) => chance.characters(0x1f1e6, 0x1f1ff)],
  [
    'combining marks',
    (chance) => chance.many(() => `a${chance.character(0x300, 0x36f)}${chance.character(0x300, 0x36f)}`),
  ],
  ['Hangul, any syllable', (chance) => chance.characters(0xac00, 0xd7a3)],
  ['Chinese, any character', (chance) => chance.characters(0x4e00, 0x9fff)],
  ['Chinese, rare (plane 2)', (chance) => chance.characters(0x20000, 0x2a6df)],
  ['Cherokee', (chance) => chance.characters(0x13a0, 0x13f5)],
  ['Mongolian', (chance) => chance.characters(0x1820, 0x1842)],
  ['cuneiform', (chance) => chance.characters(0x12000, 0x12399)],
  ['mathematical letters', (chance) => chance.characters(0x1d400, 0x1d454)],
  ['private use', (chance) => chance.characters(0xe000, 0xf8ff)],
  ['unassigned', (chance) => chance.characters(0x30000, 0x3ffff)],
  ['vulgar fractions', (chance) => chance.characters(0xbc, 0xbe)],
  ['musical symbols (NFC ×3)', (chance) => chance.characters(0x1d15e, 0x1d164)],
  ['U+FDFA (NFKC ×11)', () => '\ufdfa'.repeat(200)],
]);

/** The same texts every time, except for the UUIDs. */
export function samples(): readonly Sample[] {
  const chance = new Chance();
  return [
    ...[...ordinary].map(([kind, make]) => ({ kind, isOrdinary: true, text: make() })),
    ...[...extraordinary].map(([kind, make]) => ({ kind, isOrdinary: false, text: make(chance) })),
  ];
}

class Chance {
  readonly random = new Random(11);

  bytes(): Uint8Array {
    return Uint8Array.from({ length: 1_500 }, () => Math.floor(this.random.next() * 256));
  }

  many(make: () => string): string {
    return Array.from({ length: 800 }, make).join('');
  }

  character(from: number, to: number): string {
    return String.fromCodePoint(this.random.between(from, to));
  }

  characters(from: number, to: number): string {
    return this.many(() => this.character(from, to));
  }
}
