package gitstore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"strings"

	"gitwf/internal/document"
)

// The form of the cache files: each value is written as its type says; a struct begins with a bit set of its non-zero
// fields. A plan of 10,000 tasks reads several times as fast as with encoding/gob, because strings are slices of the
// file and most fields of most tasks are zero. The file holds no types; fingerprint covers them.

var errCorrupt = errors.New("corrupt")

// fingerprint describes a type, so that a program with other fields does not read the file.
func fingerprint(t reflect.Type) uint64 {
	h := fnv.New64a()
	h.Write([]byte(describe(t, nil)))
	return h.Sum64()
}

func describe(t reflect.Type, outer []reflect.Type) string {
	for _, o := range outer {
		if o == t {
			return t.String()
		}
	}
	outer = append(outer, t)
	switch t.Kind() {
	case reflect.Struct:
		var b strings.Builder
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "%s %s;", f.Name, describe(f.Type, outer))
		}
		return "{" + b.String() + "}"
	case reflect.Pointer:
		return "*" + describe(t.Elem(), outer)
	case reflect.Slice:
		return "[]" + describe(t.Elem(), outer)
	case reflect.Map:
		return "map " + describe(t.Key(), outer) + " " + describe(t.Elem(), outer)
	}
	return t.Kind().String()
}

// isAnybodys reports whether a map has whatever somebody wrote into plan.json. It is stored as JSON.
func isAnybodys(v reflect.Value) bool { return v.Type().Elem().Kind() == reflect.Interface }

// encode appends v to b. It fails on types that the form does not cover.
func encode(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return append(b, 0), nil
		}
	}
	switch v.Kind() {
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...), nil
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float())), nil
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.Struct:
		return encodeStruct(b, v)
	case reflect.Pointer:
		return encode(append(b, 1), v.Elem())
	case reflect.Slice:
		return encodeSlice(b, v)
	case reflect.Map:
		if isAnybodys(v) {
			text, err := json.Marshal(v.Interface())
			b = binary.AppendUvarint(b, uint64(len(text)))
			return append(b, text...), err
		}
		return encodeMap(b, v)
	}
	return b, fmt.Errorf("can't cache a %s", v.Type())
}

func encodeSlice(b []byte, v reflect.Value) (_ []byte, err error) {
	b = binary.AppendUvarint(b, uint64(v.Len())+1)
	for i := range v.Len() {
		if b, err = encode(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return b, nil
}

func encodeMap(b []byte, v reflect.Value) (_ []byte, err error) {
	b = binary.AppendUvarint(b, uint64(v.Len())+1)
	for it := v.MapRange(); it.Next(); {
		if b, err = encode(b, it.Key()); err != nil {
			return b, err
		}
		if b, err = encode(b, it.Value()); err != nil {
			return b, err
		}
	}
	return b, nil
}

func encodeStruct(b []byte, v reflect.Value) (_ []byte, err error) {
	var bits uint64
	if v.NumField() > 64 {
		return b, fmt.Errorf("can't cache a %s: too many fields", v.Type())
	}
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			bits |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, bits)
	for i := range v.NumField() {
		if bits&(1<<i) == 0 {
			continue
		}
		if b, err = encode(b, v.Field(i)); err != nil {
			return b, err
		}
	}
	return b, nil
}

// decoder reads what encode wrote. On other input its methods set err and return something harmless.
type decoder struct {
	s   string
	err error
}

func (d *decoder) fail() {
	d.err = errCorrupt
	d.s = ""
}

func (d *decoder) uvarint() uint64 {
	var n uint64
	for i := 0; i < len(d.s) && i < binary.MaxVarintLen64; i++ {
		n |= uint64(d.s[i]&0x7f) << (7 * i)
		if d.s[i] < 0x80 {
			d.s = d.s[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) varint() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) take(n uint64) string {
	if n > uint64(len(d.s)) {
		d.fail()
		return ""
	}
	part := d.s[:n]
	d.s = d.s[n:]
	return part
}

// length reads the length of a slice or map; every element takes at least a byte.
func (d *decoder) length() int {
	n := d.uvarint()
	if n > uint64(len(d.s))+1 {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) decode(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.take(d.uvarint()))
	case reflect.Int, reflect.Int64:
		v.SetInt(d.varint())
	case reflect.Float64:
		if part := d.take(8); part != "" {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64([]byte(part))))
		}
	case reflect.Bool:
		v.SetBool(d.take(1) == "\x01")
	case reflect.Struct:
		bits := d.uvarint()
		for i := range v.NumField() {
			if bits&(1<<i) != 0 {
				d.decode(v.Field(i))
			}
		}
	case reflect.Pointer:
		if d.take(1) == "\x01" {
			v.Set(reflect.New(v.Type().Elem()))
			d.decode(v.Elem())
		}
	case reflect.Slice:
		if n := d.length(); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
			for i := range n - 1 {
				d.decode(v.Index(i))
			}
		}
	case reflect.Map:
		if isAnybodys(v) {
			d.decodeJSON(v)
		} else {
			d.decodeMap(v)
		}
	default:
		d.fail()
	}
}

func (d *decoder) decodeMap(v reflect.Value) {
	n := d.length()
	if n == 0 {
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), n-1)
	for range n - 1 {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		d.decode(key)
		d.decode(value)
		m.SetMapIndex(key, value)
	}
	v.Set(m)
}

func (d *decoder) decodeJSON(v reflect.Value) {
	text := d.take(d.uvarint())
	if text == "" {
		return
	}
	value, err := document.Load("", []byte(text))
	if m, ok := value.(map[string]any); ok && err == nil {
		v.Set(reflect.ValueOf(m))
	} else {
		d.fail()
	}
}
