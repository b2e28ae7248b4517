package plan

import (
	"reflect"
	"time"
)

// dated is an event of a test, with a time and a name where each of its records says when it was made and by whom.
func dated(e Event) Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	date(v)
	return v.Interface().(Event)
}

func date(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*Plan]() {
			date(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			date(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case !f.CanSet():
			case f.Type() == reflect.TypeFor[time.Time]() && f.IsZero():
				f.Set(reflect.ValueOf(noon))
			case f.Kind() == reflect.String && f.IsZero() && (name == "By" || name == "Agent" && v.Type() != reflect.TypeFor[Review]()):
				f.SetString("someone")
			default:
				date(f)
			}
		}
	}
}

func dateAll(reviews []Review) []Review {
	date(reflect.ValueOf(reviews))
	return reviews
}
