import BenchmarkData
import RawSQLCipher
import _AllocationCounter

/// The operations of one run, counted in a separate round that is not timed; nil if they cannot be counted.
struct Counts: Codable {
  /// SQL statements, including those that begin and end transactions.
  var statements: Int
  var allocations: Int?
  /// The allocated bytes.
  var bytes: Int?
  /// Retains of Swift objects.
  var retains: Int?
}

/// Runs a side once more.
@MainActor
func count(_ side: Side) async throws -> Counts {
  try await side.prepare()
  raw_count_statements(true)
  allocation_counter_start_with_retains()
  try await side.run()
  let counts = allocation_counter_stop()
  let statements = raw_counted_statements()
  raw_count_statements(false)
  _ = try await side.finish()
  let hasAllocations = allocation_counter_counts_allocations()
  return Counts(
    statements: Int(statements), allocations: hasAllocations ? Int(counts.allocations) : nil,
    bytes: hasAllocations ? Int(counts.bytes) : nil, retains: allocation_counter_counts_retains() ? Int(counts.retains) : nil)
}
