package tui

import "slices"

// scroll is which part of a conversation is in view. It lays out only what is: the place is
// an item and a row of it, never a number of rows from the start.
type scroll struct {
	away bool // a person has left the end
	item int  // the first in view, and which of its rows
	row  int
	news int // items since then

	first, last int   // items in view at the last layout
	owners      []int // the item of each row in view
}

// end goes to the end, and stays there as more comes.
func (s *scroll) end() { *s = scroll{} }

// layout are the rows in view, at most that many. Rows of the item at i are rows(i).
func (s *scroll) layout(n, height int, rows func(i int) []line) []line {
	s.owners = s.owners[:0]
	if n == 0 || height <= 0 {
		s.first, s.last = 0, -1
		return nil
	}
	if s.away {
		if out, full := s.forward(n, height, rows); full {
			return out
		}
		s.end() // what is in view reaches the end
	}
	var parts [][]line
	total, i := 0, n
	for i > 0 && total < height {
		i--
		part := rows(i)
		if total == 0 { // no free rows at the end
			for len(part) > 0 && len(part[len(part)-1]) == 0 {
				part = part[:len(part)-1]
			}
		}
		parts = append(parts, part)
		total += len(part)
	}
	s.first, s.last = i, n-1
	s.item, s.row = i, max(0, total-height)
	var out []line
	for k, part := range slices.Backward(parts) {
		out = append(out, part...)
		for range part {
			s.owners = append(s.owners, n-1-k)
		}
	}
	from := max(0, total-height)
	s.owners = s.owners[from:]
	return out[from:]
}

// forward lays out from the place downwards, and reports whether the view is full.
func (s *scroll) forward(n, height int, rows func(i int) []line) (out []line, full bool) {
	s.item = min(s.item, n-1)
	s.first = s.item
	for i := s.item; i < n && len(out) < height; i++ {
		part := rows(i)
		if i == s.item {
			s.row = min(s.row, max(0, len(part)-1))
			part = part[min(s.row, len(part)):]
		}
		out = append(out, part...)
		for range part {
			s.owners = append(s.owners, i)
		}
		s.last = i
	}
	full = len(out) >= height
	if len(out) > height {
		out, s.owners = out[:height], s.owners[:height]
	}
	if !full {
		s.owners = s.owners[:0]
	}
	return out, full
}

// by moves the view by some rows, upwards if they are negative. The layout before it says
// where it was.
func (s *scroll) by(delta, n int, rows func(i int) []line) {
	if n == 0 {
		return
	}
	if !s.away {
		if delta >= 0 {
			return
		}
		s.away, s.news = true, 0
	}
	for ; delta < 0; delta++ {
		if s.row > 0 {
			s.row--
			continue
		}
		i := s.item - 1
		for i >= 0 && len(rows(i)) == 0 {
			i--
		}
		if i < 0 {
			return
		}
		s.item, s.row = i, len(rows(i))-1
	}
	for ; delta > 0; delta-- {
		if s.row+1 < len(rows(s.item)) {
			s.row++
			continue
		}
		i := s.item + 1
		for i < n && len(rows(i)) == 0 {
			i++
		}
		if i >= n {
			return
		}
		s.item, s.row = i, 0
	}
}

// to shows an item at the top.
func (s *scroll) to(item int) { s.away, s.item, s.row, s.news = true, item, 0, 0 }
