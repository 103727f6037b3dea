import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Returns the alternative plan that starts with the fewest objects, or the given plan if there are no alternatives or all start with
  /// many.
  func chosen(
    _ plan: SelectPlan, _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ space: ObjectIDSpace, isTraced: Bool = true,
    _ transaction: ReadTransaction
  ) throws -> SelectPlan {
    guard let choice = plan.choice else { return plan }
    func count(_ probe: SelectivityProbe, upTo bound: Int) throws -> Int {
      let statement = try transaction.connection.statement(sql: probe.sql.text)
      defer { statement.reset() }
      try bind(probe.sql.binders, fetch, specification, space, probe: bound, to: statement)
      if isTraced { trace.record(statement) }
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
