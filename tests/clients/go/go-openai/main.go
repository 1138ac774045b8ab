package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	openai "github.com/sashabaranov/go-openai"

	"tollgate.example/clients/checks"
)

var ctx = context.Background()

func connect() *openai.Client {
	config := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	config.BaseURL = os.Getenv("OPENAI_BASE_URL")
	return openai.NewClientWithConfig(config)
}

var client = connect()

func user(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
}

func ask(request openai.ChatCompletionRequest, messages ...openai.ChatCompletionMessage) (openai.ChatCompletionMessage, error) {
	if request.Model == "" {
		request.Model = checks.Model
	}
	request.Messages = messages
	completion, err := client.CreateChatCompletion(ctx, request)
	if err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	return completion.Choices[0].Message, nil
}

func chat() error {
	answer, err := ask(openai.ChatCompletionRequest{}, user(checks.Hello))
	if err != nil {
		return err
	}
	return checks.Expect(answer.Content, checks.Hello)
}

func stream() error {
	request := openai.ChatCompletionRequest{Model: checks.Model, Messages: []openai.ChatCompletionMessage{user(checks.Hello)}}
	events, err := client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return err
	}
	defer events.Close()
	text := ""
	for {
		chunk, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return checks.Expect(text, checks.Hello)
		}
		if err != nil {
			return err
		}
		text += chunk.Choices[0].Delta.Content
	}
}

func tools() error {
	request := openai.ChatCompletionRequest{Tools: []openai.Tool{{
		Type:     openai.ToolTypeFunction,
		Function: &openai.FunctionDefinition{Name: "get_weather", Parameters: checks.WeatherSchema},
	}}}
	call, err := ask(request, user(checks.Weather))
	if err != nil {
		return err
	}
	if len(call.ToolCalls) != 1 {
		return fmt.Errorf("expected one tool call, got %d", len(call.ToolCalls))
	}
	result := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: "sunny", ToolCallID: call.ToolCalls[0].ID}
	answer, err := ask(request, user(checks.Weather), call, result)
	if err != nil {
		return err
	}
	return checks.Expect(answer.Content, "sunny")
}

func structured() error {
	schema, _ := json.Marshal(checks.CitySchema)
	answer, err := ask(openai.ChatCompletionRequest{ResponseFormat: &openai.ChatCompletionResponseFormat{
		Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
			Name: "city", Schema: json.RawMessage(schema), Strict: true,
		},
	}}, user("Name a city."))
	if err != nil {
		return err
	}
	return checks.Expect(answer.Content, `"name":`)
}

func imageInput() error {
	answer, err := ask(openai.ChatCompletionRequest{}, openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleUser,
		MultiContent: []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: "What is this?"},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: checks.Pixel}},
		},
	})
	if err != nil {
		return err
	}
	return checks.Expect(answer.Content, "1 image")
}

func imageOutput() error {
	images, err := client.CreateImage(ctx, openai.ImageRequest{
		Model: checks.ImageModel, Prompt: "A gate at dawn", Size: "1024x1024",
	})
	if err != nil {
		return err
	}
	return checks.Expect(images.Data[0].URL, "://")
}

func main() {
	runner := checks.Checks{CodeOf: func(err error) (string, string) {
		var failure *openai.APIError
		if !errors.As(err, &failure) {
			return "", ""
		}
		param := ""
		if failure.Param != nil {
			param = *failure.Param
		}
		return fmt.Sprint(failure.Code), param
	}}
	runner.Run("chat", chat)
	runner.Run("stream", stream)
	runner.Run("tools", tools)
	runner.Run("structured output", structured)
	runner.Run("image input", imageInput)
	runner.Run("image output", imageOutput)
	runner.Run("errors", runner.Fails("model_not_found", func() error {
		_, err := ask(openai.ChatCompletionRequest{Model: "x"}, user("x"))
		return err
	}))
	runner.Run("MaxTokens", func() error {
		_, err := ask(openai.ChatCompletionRequest{MaxTokens: 5}, user(checks.Hello))
		return err
	})
	runner.Run("MaxCompletionTokens", func() error {
		_, err := ask(openai.ChatCompletionRequest{MaxCompletionTokens: 5}, user(checks.Hello))
		return err
	})
}
