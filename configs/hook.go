package configs

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// hook turns text into what a field wants: durations ("5s"), lists ("a,b"), log levels ("warn").
func hook() mapstructure.DecodeHookFunc {
	return mapstructure.ComposeDecodeHookFunc(
		mapstructure.DecodeHookFuncType(refuseBareNumbers),
		mapstructure.StringToTimeDurationHookFunc(),
		mapstructure.DecodeHookFuncType(splitLists),
		mapstructure.TextUnmarshallerHookFunc(),
	)
}

// refuseBareNumbers: `timeout: 5` in a file would mean five nanoseconds, which nobody wants.
func refuseBareNumbers(from, to reflect.Type, data any) (any, error) {
	if to == reflect.TypeFor[time.Duration]() && from.Kind() != reflect.String {
		return nil, fmt.Errorf("%v is no duration: add a unit, such as %vs", data, data)
	}
	return data, nil
}

// splitLists takes "a,b" and also "a, b".
func splitLists(from, to reflect.Type, data any) (any, error) {
	if from.Kind() != reflect.String || to != reflect.TypeFor[[]string]() {
		return data, nil
	}
	parts := strings.Split(data.(string), ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts, nil
}
