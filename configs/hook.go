package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// hook turns text into what a field wants: durations ("5s"), lists ("a,b"), sites (JSON), log levels ("warn").
func hook() mapstructure.DecodeHookFunc {
	return mapstructure.ComposeDecodeHookFunc(
		mapstructure.DecodeHookFuncType(refuseEmpty),
		mapstructure.DecodeHookFuncType(refuseBareNumbers),
		mapstructure.StringToTimeDurationHookFunc(),
		mapstructure.DecodeHookFuncType(splitLists),
		readList[Site]("access.sites"),
		readList[ReadGrant]("access.readers"),
		mapstructure.TextUnmarshallerHookFunc(),
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

// readList takes a list of maps from the environment, where it can only be JSON.
func readList[T any](key string) mapstructure.DecodeHookFuncType {
	return func(from, to reflect.Type, data any) (any, error) {
		if from.Kind() != reflect.String || to != reflect.TypeFor[[]T]() {
			return data, nil
		}
		var list []T
		d := json.NewDecoder(strings.NewReader(data.(string)))
		d.DisallowUnknownFields()
		if err := d.Decode(&list); err != nil {
			return nil, fmt.Errorf(`reading %s as JSON, such as [{"site":"shop","key_hashes":["..."]}]: %w`, key, err)
		}
		return list, nil
	}
}
