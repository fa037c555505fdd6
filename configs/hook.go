package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// hook turns text into what a field wants: durations ("5s"), lists ("a,b"), sites (JSON), log levels ("warn").
func hook() mapstructure.DecodeHookFunc {
	return mapstructure.ComposeDecodeHookFunc(
		mapstructure.DecodeHookFuncType(refuseEmpty),
		mapstructure.DecodeHookFuncType(readDuration),
		mapstructure.DecodeHookFuncType(splitLists),
		readList[Site](),
		readList[ReadGrant](),
		mapstructure.DecodeHookFuncType(readLevel),
	)
}

// refuseEmpty: an empty text is a text or an empty list. Of numbers, switches and durations it would make 0 or off, such as no limit.
func refuseEmpty(from, to reflect.Type, data any) (any, error) {
	if from.Kind() != reflect.String || strings.TrimSpace(data.(string)) != "" {
		return data, nil
	}
	switch to.Kind() {
	case reflect.String:
		return data, nil
	case reflect.Slice:
		return reflect.MakeSlice(to, 0, 0).Interface(), nil
	}
	return nil, errors.New("is set but empty: set a value, or unset it for the default")
}

// readDuration refuses bare numbers, too: `timeout: 5` in a file would mean five nanoseconds, which nobody wants.
func readDuration(_, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() {
		return data, nil
	}
	d, err := time.ParseDuration(fmt.Sprint(data))
	if err != nil {
		return nil, fmt.Errorf("is %q: want a number with a unit, such as 500ms, 30s or 24h", fmt.Sprint(data))
	}
	return d, nil
}

func readLevel(_, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[slog.Level]() {
		return data, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(fmt.Sprint(data))); err != nil {
		return nil, fmt.Errorf("is %q: want debug, info, warn or error", fmt.Sprint(data))
	}
	return level, nil
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

// readList takes a list of maps from the environment, where it can only be JSON.
func readList[T any]() mapstructure.DecodeHookFuncType {
	return func(from, to reflect.Type, data any) (any, error) {
		if from.Kind() != reflect.String || to != reflect.TypeFor[[]T]() {
			return data, nil
		}
		var list []T
		d := json.NewDecoder(strings.NewReader(data.(string)))
		d.DisallowUnknownFields()
		if err := d.Decode(&list); err != nil {
			return nil, fmt.Errorf(`is no list in JSON, such as [{"site":"shop","key_hashes":["..."]}]: %w`, err)
		}
		return list, nil
	}
}
