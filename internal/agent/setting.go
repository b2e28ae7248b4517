package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is one key of an agent's configuration.
type setting struct {
	key     string
	example string                               // a plausible value or a placeholder; "" if every value is right
	set     func(c *Config, value string) string // stores a value, or says what is wrong with it
}

// settings is the table of keys, in the order of messages.
var settings = [...]setting{
	{"kind", "KIND", func(c *Config, v string) string { c.Kind = v; return "" }},
	{"command", "COMMAND", func(c *Config, v string) string { c.Command = v; return "" }},
	{"args", "", func(c *Config, v string) string { c.Args = append(c.Args, v); return "" }},
	{"model", "MODEL", func(c *Config, v string) string { c.Model = v; return "" }},
	{"baseurl", "URL", func(c *Config, v string) string { c.BaseURL = v; return "" }},
	{"keyenv", "", func(c *Config, v string) string { c.KeyEnv = v; return "" }},
	{"timeout", "10m", func(c *Config, v string) string { return duration(v, &c.Timeout) }},
	{"fallback", "AGENT", func(c *Config, v string) string {
		c.Fallback = append(c.Fallback, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
		return ""
	}},
	{"workspace", WorkspaceScratch, func(c *Config, v string) string { c.Workspace = v; return "" }},
	{"shell", "false", func(c *Config, v string) string { return flag(v, &c.Shell) }},
	{"trustcommands", "false", func(c *Config, v string) string { return flag(v, &c.TrustCommands) }},
	{"budget", "196608", func(c *Config, v string) string {
		n, err := strconv.Atoi(v)
		if err != nil || n <= 0 {
			return visible(v) + " is no number of bytes"
		}
		c.Budget = n
		return ""
	}},
}

// settingOf returns the row of a key, nil if there is none.
func settingOf(key string) *setting {
	i := slices.IndexFunc(settings[:], func(s setting) bool { return s.key == key })
	if i < 0 {
		return nil
	}
	return &settings[i]
}

// set applies one setting and says what is wrong with it, "" for nothing.
func (c *Config) set(key, value string) string {
	if s := settingOf(key); s != nil {
		return s.set(c, value)
	}
	var known []string
	for _, s := range settings {
		known = append(known, s.key)
	}
	return "unknown; known are " + strings.Join(known, ", ")
}

func duration(value string, into *time.Duration) string {
	d, err := time.ParseDuration(value)
	if seconds, atoiErr := strconv.Atoi(value); atoiErr == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d <= 0 {
		return fmt.Sprintf("%s is no time: expected seconds, or a number with a unit, such as 10m", visible(value))
	}
	*into = d
	return ""
}

func flag(value string, into *bool) string {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		*into = true
	case "false", "no", "off", "0":
		*into = false
	default:
		return visible(value) + " is neither true nor false"
	}
	return ""
}
