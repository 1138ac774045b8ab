package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"

	"tollgate.example/clients/checks"
)

var ctx = context.Background()

// Reads OPENAI_BASE_URL and OPENAI_API_KEY.
var client = openai.NewClient()

func ask(fields openai.ChatCompletionNewParams, messages ...openai.ChatCompletionMessageParamUnion) (*openai.ChatCompletion, error) {
	fields.Model, fields.Messages = checks.Model, messages
	return client.Chat.Completions.New(ctx, fields)
}

func chat() error {
	completion, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    checks.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(checks.Hello)},
	})
	if err != nil {
		return err
	}
	return checks.Expect(completion.Choices[0].Message.Content, checks.Hello)
}

func stream() error {
	events := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:    checks.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(checks.Hello)},
	})
	text := openai.ChatCompletionAccumulator{}
	for events.Next() {
		text.AddChunk(events.Current())
	}
	if events.Err() != nil {
		return events.Err()
	}
	return checks.Expect(text.Choices[0].Message.Content, checks.Hello)
}

func tools() error {
	fields := openai.ChatCompletionNewParams{Tools: []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_weather", Parameters: checks.WeatherSchema}),
	}}
	question := openai.UserMessage(checks.Weather)
	call, err := ask(fields, question)
	if err != nil {
		return err
	}
	message := call.Choices[0].Message
	if len(message.ToolCalls) != 1 {
		return fmt.Errorf("expected one tool call, got %d", len(message.ToolCalls))
	}
	answer, err := ask(fields, question, message.ToParam(), openai.ToolMessage("sunny", message.ToolCalls[0].ID))
	if err != nil {
		return err
	}
	return checks.Expect(answer.Choices[0].Message.Content, "sunny")
}

func structured() error {
	format := openai.ResponseFormatJSONSchemaParam{JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "city", Schema: checks.CitySchema, Strict: openai.Bool(true),
	}}
	answer, err := ask(openai.ChatCompletionNewParams{
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &format},
	}, openai.UserMessage("Name a city."))
	if err != nil {
		return err
	}
	return checks.Expect(answer.Choices[0].Message.Content, `"name":`)
}

func imageInput() error {
	answer, err := ask(openai.ChatCompletionNewParams{}, openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What is this?"),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: checks.Pixel}),
	}))
	if err != nil {
		return err
	}
	return checks.Expect(answer.Choices[0].Message.Content, "1 image")
}

func imageOutput() error {
	images, err := client.Images.Generate(ctx, openai.ImageGenerateParams{
		Model: checks.ImageModel, Prompt: "A gate at dawn", Size: "1024x1024",
	})
	if err != nil {
		return err
	}
	return checks.Expect(images.Data[0].URL, "://")
}

func main() {
	runner := checks.Checks{CodeOf: func(err error) (string, string) {
		var failure *openai.Error
		if errors.As(err, &failure) {
			return failure.Code, failure.Param
		}
		return "", ""
	}}
	runner.Run("chat", chat)
	runner.Run("stream", stream)
	runner.Run("tools", tools)
	runner.Run("structured output", structured)
	runner.Run("image input", imageInput)
	runner.Run("image output", imageOutput)
	runner.Run("errors", runner.Fails("model_not_found", func() error {
		_, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model: "x", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")},
		})
		return err
	}))
	runner.Run("MaxTokens", func() error {
		_, err := ask(openai.ChatCompletionNewParams{MaxTokens: openai.Int(5)}, openai.UserMessage(checks.Hello))
		return err
	})
	runner.Run("MaxCompletionTokens", func() error {
		_, err := ask(openai.ChatCompletionNewParams{MaxCompletionTokens: openai.Int(5)}, openai.UserMessage(checks.Hello))
		return err
	})
}
