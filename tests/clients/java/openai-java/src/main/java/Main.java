import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionContentPart;
import com.openai.models.chat.completions.ChatCompletionContentPartImage;
import com.openai.models.chat.completions.ChatCompletionContentPartText;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.images.ImageGenerateParams;
import java.util.List;

/** Prints one line of JSON per check, as scripts/test-clients.ts reads it. */
public class Main {
    static final String MODEL = System.getenv("MODEL");
    static final String HELLO = "Hello";
    // The sandbox calls a tool when it is told to.
    static final String WEATHER = "[[tool GetWeather]] How is the weather in Oslo?";
    static final String PIXEL =
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    // Reads OPENAI_BASE_URL and OPENAI_API_KEY.
    static final OpenAIClient client = OpenAIOkHttpClient.fromEnv();

    public static class GetWeather {
        public String city;
    }

    public static class City {
        public String name;
        public String country;
    }

    interface Check {
        void run() throws Exception;
    }

    static ChatCompletionCreateParams.Builder ask(String text) {
        return ChatCompletionCreateParams.builder().model(MODEL).addUserMessage(text);
    }

    static String textOf(ChatCompletion completion) {
        return completion.choices().get(0).message().content().orElse("");
    }

    public static void main(String[] arguments) {
        check("chat", () -> {
            ChatCompletion completion = client.chat().completions().create(
                    ChatCompletionCreateParams.builder().model(MODEL).addUserMessage(HELLO).build());
            expect(textOf(completion), HELLO);
        });
        check("stream", () -> {
            StringBuilder text = new StringBuilder();
            try (var events = client.chat().completions().createStreaming(ask(HELLO).build())) {
                events.stream().flatMap(chunk -> chunk.choices().stream())
                        .forEach(choice -> choice.delta().content().ifPresent(text::append));
            }
            expect(text.toString(), HELLO);
        });
        check("tools", () -> {
            var question = ask(WEATHER).addTool(GetWeather.class);
            ChatCompletionMessage call = client.chat().completions().create(question.build()).choices().get(0).message();
            String id = call.toolCalls().orElseThrow().get(0).asFunction().id();
            var answer = client.chat().completions().create(question.addMessage(call)
                    .addMessage(ChatCompletionToolMessageParam.builder().toolCallId(id).content("sunny").build()).build());
            expect(textOf(answer), "sunny");
        });
        check("structured output", () -> {
            var completion = client.chat().completions().create(ask("Name a city.").responseFormat(City.class).build());
            expect(completion.choices().get(0).message().content().orElseThrow().country, "sample");
        });
        check("image input", () -> {
            var image = ChatCompletionContentPartImage.builder()
                    .imageUrl(ChatCompletionContentPartImage.ImageUrl.builder().url(PIXEL).build()).build();
            var text = ChatCompletionContentPartText.builder().text("What is this?").build();
            var parts = List.of(ChatCompletionContentPart.ofText(text), ChatCompletionContentPart.ofImageUrl(image));
            var request = ChatCompletionCreateParams.builder().model(MODEL).addUserMessageOfArrayOfContentParts(parts);
            expect(textOf(client.chat().completions().create(request.build())), "1 image");
        });
        check("image output", () -> {
            var images = client.images().generate(ImageGenerateParams.builder().model(System.getenv("IMAGE_MODEL"))
                    .prompt("A gate at dawn").size(ImageGenerateParams.Size._1024X1024).build());
            expect(images.data().orElseThrow().get(0).url().orElseThrow(), "://");
        });
        check("errors", () -> {
            try {
                client.chat().completions().create(ask("x").model("x").build());
            } catch (OpenAIServiceException error) {
                expect(error.code().orElse(""), "model_not_found");
                return;
            }
            throw new IllegalStateException("no error was thrown");
        });
        check("maxTokens(5)", () -> client.chat().completions().create(ask(HELLO).maxTokens(5).build()));
        check("maxCompletionTokens(5)",
                () -> client.chat().completions().create(ask(HELLO).maxCompletionTokens(5).build()));
        System.exit(0);
    }

    static void expect(String text, String part) {
        if (!text.contains(part)) throw new IllegalStateException("expected " + part + " in " + text);
    }

    static void check(String name, Check check) {
        try {
            check.run();
            System.out.printf("{\"check\":\"%s\",\"outcome\":\"works\"}%n", name);
        } catch (OpenAIServiceException error) {
            System.out.printf("{\"check\":\"%s\",\"outcome\":\"refused\",\"code\":\"%s\",\"param\":\"%s\"}%n",
                    name, error.code().orElse(""), error.param().orElse(""));
        } catch (Exception error) {
            String detail = String.valueOf(error).replaceAll("[\"\\\\\\p{Cntrl}]", " ");
            System.out.printf("{\"check\":\"%s\",\"outcome\":\"failed\",\"detail\":\"%s\"}%n", name, detail);
        }
    }
}
