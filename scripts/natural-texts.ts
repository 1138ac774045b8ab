/**
 * Texts as people and models write them, to measure how few tokens a text can have. Some lean towards few tokens on
 * purpose: long common words, set phrases, indentation, names that are whole in a vocabulary.
 */
import { declarations } from './sample-texts.ts';

const prose = `The committee recommended substantial improvements to international transportation infrastructure, particularly regarding environmental responsibility and administrative accountability. Representatives from numerous organizations acknowledged the significance of these recommendations. Nevertheless, implementation remained extraordinarily complicated, and considerable disagreement persisted throughout the negotiations.`;

const simple = `It was a cold day in April, and the old man sat by the window with a cup of tea in his hand. He had been there since the early morning, and he did not want to go out at all. "Why should I?" he said to the cat, who did not answer. There was nothing to do but wait for the rain to stop, and it did not stop.`;

const news = `LONDON (Reuters) - Shares in the company fell more than 12% on Tuesday after it said that profits for the third quarter would be well below expectations, blaming higher energy prices and weaker demand from customers in the United States. The chief executive told reporters that the government had been informed and that no jobs would be lost before the end of the year.`;

const explanation = `Photosynthesis is the process by which plants, algae and some bacteria convert light energy into chemical energy. In the first stage, the light-dependent reactions, chlorophyll absorbs photons and splits water molecules, releasing oxygen. In the second stage, the Calvin cycle, carbon dioxide is converted into glucose. Let me know if you'd like me to explain either stage in more detail!`;

const french = `Le gouvernement a annoncé mardi une augmentation considérable des investissements publics destinés aux établissements d'enseignement supérieur. Selon les représentants du ministère, cette décision permettra notamment d'améliorer les conditions d'apprentissage des étudiants dans l'ensemble du pays, même si l'opposition considère que ces mesures restent insuffisantes.`;

const spanish = `El presidente de la comisión aseguró que las negociaciones internacionales continuarán durante las próximas semanas. Según los responsables, el objetivo principal es garantizar la transparencia de las administraciones públicas y, especialmente, la participación de las organizaciones de la sociedad civil en todo el territorio.`;

const german = `Die Bundesregierung hat am Dienstag angekündigt, die Rahmenbedingungen für die Wirtschaft grundsätzlich zu verbessern. Wissenschaftlerinnen und Wissenschaftler bezeichneten die Veröffentlichung als außergewöhnlich, weil die Zusammenarbeit zwischen den Universitäten selbstverständlich geworden sei. Die Wahrscheinlichkeit, dass sich daran etwas ändert, ist gering.`;

const russian = `Президент заявил, что правительство продолжит работу над улучшением условий жизни населения. По словам представителей министерства, в следующем году планируется значительно увеличить финансирование образования и здравоохранения. Кроме того, необходимо обеспечить безопасность дорожного движения в крупных городах страны.`;

const chinese = `中国特色社会主义进入新时代，我们必须坚持以人民为中心的发展思想，深入贯彻落实党中央的决策部署，推动经济社会高质量发展。各级人民政府应当进一步加强组织领导，完善工作机制，确保各项任务落到实处。会议强调，要充分发挥市场在资源配置中的决定性作用，更好发挥政府作用。`;

const casualChinese = `好的，没问题！首先你需要打开电脑，然后点击左下角的开始菜单，找到设置选项。如果还是不行的话，可以重新启动一下，或者联系客服，他们会帮助你解决这个问题的。希望对你有所帮助，祝你生活愉快！`;

const japanese = `いつもお世話になっております。ご連絡いただきありがとうございます。お問い合わせの件につきましては、担当者より改めてご連絡させていただきますので、今しばらくお待ちくださいますようお願いいたします。ご不明な点がございましたら、お気軽にお問い合わせください。今後ともよろしくお願いいたします。`;

const korean = `안녕하세요. 문의해 주셔서 감사합니다. 요청하신 내용을 확인한 결과, 현재 시스템 점검이 진행 중이며 오후 여섯 시까지 완료될 예정입니다. 불편을 드려 죄송합니다. 추가로 궁금하신 사항이 있으시면 언제든지 연락해 주시기 바랍니다.`;

const thai = `กระทรวงสาธารณสุขประกาศว่าประเทศไทยจะดำเนินการพัฒนาระบบบริการสุขภาพอย่างต่อเนื่อง เพื่ออำนวยความสะดวกให้แก่ประชาชนทั่วประเทศ โดยผู้อำนวยการกล่าวว่าการเปลี่ยนแปลงครั้งนี้มีความสำคัญมากสำหรับกรุงเทพมหานครและจังหวัดอื่น ๆ`;

const arabic = `أعلنت وزارة الخارجية اليوم أن المفاوضات بين الطرفين سوف تستمر خلال الأسابيع القادمة من أجل التوصل إلى اتفاق شامل. وقال المتحدث باسم الحكومة إن العلاقات بين البلدين شهدت تطورا كبيرا في السنوات الأخيرة في مجالات الاقتصاد والتعليم والثقافة.`;

const persian = `رئیس‌جمهور در این نشست گفت که دولت می‌تواند با همکاری دانشگاه‌ها برنامه‌های جدیدی برای توسعه کشور ارائه کند. به‌عنوان نمونه، آن‌ها می‌خواهند شرایط زندگی مردم را بهتر کنند و این کار از سال آینده آغاز می‌شود.`;

const hindi = `भारत सरकार ने मंगलवार को कहा कि देश के विकास के लिए शिक्षा और स्वास्थ्य सेवाओं में सुधार करना आवश्यक है। प्रधानमंत्री ने बताया कि इस योजना के माध्यम से लाखों लोगों को रोजगार मिलेगा और ग्रामीण क्षेत्रों में सुविधाएं बेहतर होंगी।`;

const python = `def process_transactions(self, transactions, account_id=None):
    """Processes all transactions and returns the balance."""
    balance = 0
    for transaction in transactions:
        if transaction.account_id == account_id:
            if transaction.is_valid():
                balance += transaction.amount
            else:
                raise ValueError("Invalid transaction: {}".format(transaction.id))
    return balance


if __name__ == "__main__":
    print(process_transactions(None, []))
`;

const javascript = `import React, { useState, useEffect } from 'react';

export default function UserProfile({ userId }) {
  const [user, setUser] = useState(null);

  useEffect(() => {
    fetch(\`/api/users/\${userId}\`)
      .then((response) => response.json())
      .then((data) => setUser(data))
      .catch((error) => console.error('Error fetching user:', error));
  }, [userId]);

  if (!user) {
    return <div className="loading">Loading...</div>;
  }
  return (
    <div className="container">
      <h1>{user.firstName} {user.lastName}</h1>
    </div>
  );
}
`;

const java = `public class CustomerServiceImpl implements CustomerService {
    private static final Logger LOGGER = LoggerFactory.getLogger(CustomerServiceImpl.class);

    @Override
    public Customer findById(final Long id) {
        if (id == null) {
            throw new IllegalArgumentException("The id must not be null");
        }
        return customerRepository.findById(id).orElseThrow(() -> new UnsupportedOperationException());
    }
}
`;

const swift = `override func viewDidLoad() {
    super.viewDidLoad()
    tableView.translatesAutoresizingMaskIntoConstraints = false
    let cell = tableView.dequeueReusableCellWithIdentifier("Cell", forIndexPath: indexPath)
    NSLayoutConstraint.activateConstraints([
        tableView.topAnchor.constraintEqualToAnchor(view.topAnchor),
        tableView.bottomAnchor.constraintEqualToAnchor(view.bottomAnchor)
    ])
}
`;

const html = `<!DOCTYPE html>
<html lang="en">
<head>
    <meta charset="UTF-8">
    <meta name="viewport" content="width=device-width, initial-scale=1.0">
    <title>Document</title>
</head>
<body>
    <div class="container">
        <table>
            <tr><td>&nbsp;</td><td>&nbsp;</td></tr>
        </table>
    </div>
</body>
</html>
`;

const table = `| Name            | Quantity | Price   | Description                                   |
| --------------- | -------- | ------- | --------------------------------------------- |
| Apples          |       12 |   $3.40 | Fresh apples from the farm                    |
| Oranges         |        7 |   $5.10 | Imported oranges, available until December    |
| Bananas         |       24 |   $2.20 | Organic                                       |
`;

const wideCode = `                                        if (condition) {
                                                return true;
                                        }


                                        else {
                                                return false;
                                        }
// ================================================================================
// --------------------------------------------------------------------------------
/* ****************************************************************************** */
`;

const json = `{"id":"order_1048","status":"completed","customer":{"name":"Maria Garcia","email":"maria@example.com"},"items":[{"sku":"A-100","quantity":2,"price":19.99},{"sku":"B-200","quantity":1,"price":5.0}],"notes":"Please deliver before noon.\\n\\nThank you!"}`;

const argumentsOfCode = JSON.stringify({
  path: 'src/index.ts',
  content: 'function main() {\n\t\t\treturn "done";\n}\n\n\n\t\tmain();\n',
});

const escaped = '{"greeting":"\\u4f60\\u597d\\uff0c\\u4e16\\u754c","city":"M\\u00fcnchen"}';

const log = `2026-11-16T09:41:07.123Z INFO  [http-server] request completed method=GET path=/api/health status=200 duration=3ms
2026-11-16T09:41:08.456Z ERROR [database] connection refused host=localhost port=5432 retry=1
`;

const latex = `\\begin{equation}
\\int_{-\\infty}^{\\infty} e^{-x^2} \\, dx = \\sqrt{\\pi}
\\end{equation}
where $\\alpha, \\beta \\in \\mathbb{R}$ and $\\lim_{n \\to \\infty} a_n = 0$.`;

const csv = `date,open,high,low,close,volume
2026-11-12,101.25,103.50,100.75,102.90,1250000
2026-11-13,102.90,104.10,102.20,103.75,1375000
`;

const list = `1. Preheat the oven to 180 °C.
2. Mix the flour, sugar and butter.
3. Add two eggs and stir.

- [ ] Buy milk
- [x] Call mum
**Note:** don't forget the baking powder — it's important!`;

const laughter =
  'hahahahahahahahaha '.repeat(8) +
  '哈哈哈哈哈哈哈哈'.repeat(4) +
  ' looooooooooool '.repeat(4) +
  '!'.repeat(80);

export const naturalTexts: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(declarations).map(([name, text]) => [`${name}, declaration`, text])),
  'English with long words': prose,
  'English with short words': simple,
  'English news': news,
  'English explanation': explanation,
  French: french,
  Spanish: spanish,
  'German news': german,
  'Russian news': russian,
  'Chinese, official': chinese,
  'Chinese, casual': casualChinese,
  'Japanese set phrases': japanese,
  'Korean letter': korean,
  'Thai news': thai,
  'Arabic news': arabic,
  Persian: persian,
  'Hindi news': hindi,
  Python: python,
  JavaScript: javascript,
  Java: java,
  Swift: swift,
  HTML: html,
  'Markdown table': table,
  'wide indentation': wideCode,
  JSON: json,
  'arguments with code': argumentsOfCode,
  'JSON with escapes': escaped,
  'log lines': log,
  LaTeX: latex,
  CSV: csv,
  'list with marks': list,
  'repeated characters': laughter,
};
