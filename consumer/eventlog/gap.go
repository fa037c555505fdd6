package eventlog

// FindGap is where to go on, and what nobody is known to have counted of what lies before it. That is: where the group is; else, if Kafka
// has forgotten it, where the last owner was when it last said so in the store; but not before the beginning of the log.
//
// What is counted is known from the store, where owners write how far they are when they leave, and every 30 seconds. One that crashed
// may have been further, and so may one that lost its partition to a paused process: then the group's offset tells, if it has the
// tables' mark. Without a mark it may be anybody's. Of a partition that is sealed, end is where; else math.MaxInt64.
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
	lost.To = min(lost.To, end) // what lies beyond the seal is counted elsewhere
	return start, lost
}
