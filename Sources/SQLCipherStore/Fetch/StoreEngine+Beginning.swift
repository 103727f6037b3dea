// StoreEngine+Beginning: chooses among the plans of a fetch that can begin in several ways.
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import Synchronization

extension StoreEngine {
  /// The plan that begins with the fewest objects, where there is a choice; the given one where all ways begin with many.
  func chosen(
    _ plan: FetchPlan, _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ space: ObjectIDSpace, isNoted: Bool = true,
    _ transaction: ReadTransaction
  ) throws -> FetchPlan {
    guard let choice = plan.choice else { return plan }
    func count(_ probe: DrivingProbe, upTo bound: Int) throws -> Int {
      let statement = try transaction.connection.statement(sql: probe.sql.text)
      defer { statement.reset() }
      try bind(probe.sql.binders, fetch, specification, space, probe: bound, to: statement)
      if isNoted { trace.note(statement) }
      return try statement.step() ? statement.int(0) : bound
    }
    for bound in DrivingCondition.bounds {
      var best: Int?
      var least = bound
      for (position, probe) in choice.probes.enumerated() {
        let found =
          try probe.table.map { table in
            try tableSizes.size(of: table) { try count(probe, upTo: DrivingCondition.bounds.max() ?? 0) }
          } ?? count(probe, upTo: least)
        if found < least { (best, least) = (position, found) }
      }
      if let best { return choice.plans[best] }
    }
    return plan
  }
}

/// The numbers of tables' rows, up to a bound, as they were a few saves ago: enough to choose a plan by.
final class TableSizes: Sendable {
  private struct Entry {
    let size: Int
    let commits: Int
  }
  /// How many commits a number is believed.
  private static let trust = 32
  private let entries = Mutex<[Int: Entry]>([:])
  private let commits = Atomic<Int>(0)

  /// Something was committed: the numbers are older by one.
  func noteCommit() { commits.add(1, ordering: .relaxed) }

  /// The size of a table; counted where it is not known or too old.
  func size(of table: Int, count: () throws -> Int) rethrows -> Int {
    let commits = commits.load(ordering: .relaxed)
    if let entry = entries.withLock({ $0[table] }), commits - entry.commits < Self.trust { return entry.size }
    let size = try count()
    entries.withLock { $0[table] = Entry(size: size, commits: commits) }
    return size
  }
}
