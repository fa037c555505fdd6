package eventlog

// FindGap returns the offset to start at, and the offsets before it that are not known to be counted.
//
// It starts at the group's offset. If Kafka has forgotten that, it starts where the store says that the last owner was. It never starts
// before the log's first offset.
//
// Owners write to the store how far they are when they leave, and every 30 seconds. An owner that crashed or lost its partition may have
// counted further: the group's offset says so if it has the tables' mark. Without a mark anybody may have set it. end is where a sealed
// partition ends, else math.MaxInt64.
func FindGap(committed int64, group GroupOffset, log Span, tables string, end int64) (start int64, lost Span) {
	counted := committed
	if group.Tables == tables {
		counted = max(counted, group.Offset)
	}
	if start = group.Offset; start < 0 {
		start = counted
	}
	start = max(start, log.From)
	lost = Span{counted, start}
	lost.To = min(lost.To, end) // the next generation counts what lies beyond the seal
	return start, lost
}
