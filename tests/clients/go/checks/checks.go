// Package checks prints one line of JSON per check, as scripts/test-clients.ts reads it.
package checks

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

const (
	Hello = "Hello"
	// Weather makes the sandbox call a tool.
	Weather = "[[tool get_weather]] How is the weather in Oslo?"
	Pixel   = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

var (
	Model      = os.Getenv("MODEL")
	ImageModel = os.Getenv("IMAGE_MODEL")
	CitySchema = map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"name": map[string]any{"type": "string"}},
		"required":             []string{"name"},
		"additionalProperties": false,
	}
	WeatherSchema = map[string]any{
		"type":       "object",
		"properties": map[string]any{"city": map[string]any{"type": "string"}},
		"required":   []string{"city"},
	}
)

// CodeOf returns the code and the param of the gateway's error, as the client's own error type has them.
type CodeOf func(err error) (code, param string)

// Checks runs checks for one client.
type Checks struct{ CodeOf CodeOf }

// Run reports a check. An error that carries a code of the gateway is a refusal.
func (checks Checks) Run(name string, run func() error) {
	fields := map[string]string{"check": name, "outcome": "works"}
	if err := run(); err != nil {
		fields["outcome"], fields["detail"] = "failed", err.Error()
		if code, param := checks.CodeOf(err); code != "" {
			fields["outcome"], fields["code"], fields["param"] = "refused", code, param
		}
	}
	line, _ := json.Marshal(fields)
	fmt.Println(string(line))
}

// Fails turns a call that has to fail with this code into one that has to succeed.
func (checks Checks) Fails(code string, run func() error) func() error {
	return func() error {
		err := run()
		if err == nil {
			return fmt.Errorf("no error was returned")
		}
		if found, _ := checks.CodeOf(err); found != code {
			return fmt.Errorf("expected %s, got: %v", code, err)
		}
		return nil
	}
}

// Expect returns an error unless the text has this part.
func Expect(text, part string) error {
	if strings.Contains(text, part) {
		return nil
	}
	return fmt.Errorf("expected %q in %q", part, text)
}
