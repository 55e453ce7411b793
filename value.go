package terret

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Time is a moment. In JSON it is RFC 3339 in UTC with microseconds; reading
// takes any RFC 3339 time.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000000Z"

// Now is the current time, to the microsecond, without a monotonic part, so that it
// survives a round trip.
func Now() Time { return TimeOf(time.Now()) }

// TimeOf converts t to a Time, like Now.
func TimeOf(t time.Time) Time { return Time{t.UTC().Round(0).Truncate(time.Microsecond)} }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	var in time.Time
	if err := in.UnmarshalJSON(b); err != nil {
		return err
	}
	if in = in.UTC(); in.Year() < 0 || in.Year() > 9999 {
		return fmt.Errorf("time %s is out of range", b)
	}
	*t = TimeOf(in)
	return nil
}

// JSON is any JSON value, kept as it came. It is written unchanged, except that an
// empty value becomes null and invalid JSON becomes a string, so that an agent's bad
// output never makes an event unwritable.
type JSON []byte

// MarshalJSON implements json.Marshaler.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(bytes.TrimSpace(j)) == 0 {
		return []byte("null"), nil
	}
	return rawJSON(j), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = append((*j)[:0], b...)
	return nil
}

// NullString is a string that is null in JSON if it is empty.
type NullString string

// MarshalJSON implements json.Marshaler.
func (s NullString) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return marshal(string(s))
}

// Cost is an amount of money in billionths of a US dollar, so that sums are
// exact. In JSON it is a decimal number of dollars.
type Cost int64

// USD is one dollar.
const USD Cost = 1_000_000_000

// Dollars converts for display and for agents that count in floating point.
func (c Cost) Dollars() float64 { return float64(c) / float64(USD) }

// maxDollars bounds a Cost, far from overflow.
const maxDollars = 9e9

// CostOf rounds an amount in dollars to the nearest billionth. NaN becomes zero, and
// values out of range are clamped.
func CostOf(dollars float64) Cost {
	if math.IsNaN(dollars) {
		return 0
	}
	return Cost(math.Round(min(max(dollars, -maxDollars), maxDollars) * float64(USD)))
}

// String is the amount in dollars, exact, without a currency sign.
func (c Cost) String() string {
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "-", -n
	}
	whole, part := n/uint64(USD), n%uint64(USD)
	if part == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%09d", part), "0")
}

// MarshalJSON implements json.Marshaler.
func (c Cost) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. It accepts any JSON number in range and
// rounds it to the nearest billionth.
func (c *Cost) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		return nil
	}
	// The length and float checks keep "1e999999999" from making big.Rat allocate
	// gigabytes.
	if f, err := strconv.ParseFloat(s, 64); len(s) > 64 || err != nil || math.Abs(f) > maxDollars {
		return fmt.Errorf("cost %.64s is not an amount in dollars", s)
	} else if f > -1e-10 && f < 1e-10 {
		*c = 0
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return fmt.Errorf("cost %.64s is not an amount in dollars", s)
	}
	n, err := strconv.ParseInt(r.Mul(r, big.NewRat(int64(USD), 1)).FloatString(0), 10, 64)
	*c = Cost(n)
	return err
}

// Usage counts tokens. Input does not include what was read from or written to
// the prompt cache; Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
}

// Sub returns u minus v, for agents that report running totals.
func (u Usage) Sub(v Usage) Usage {
	return u.Add(Usage{-v.Input, -v.Output, -v.CacheRead, -v.CacheWrite, -v.Reasoning})
}

// CheckWord rejects a value that programs could misread: as a flag, because it begins
// with a dash, or as several lines or an escape sequence, because it holds control
// characters or is not UTF-8. Empty is fine.
func CheckWord(field, value string) error {
	switch {
	case strings.HasPrefix(value, "-"):
		return Invalid(field, "%q begins with a dash and could be read as a flag", value)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return Invalid(field, "%q contains a control character", value)
	}
	return nil
}
