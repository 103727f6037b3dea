import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

/// The components that own side tables in an open store, and the state of their tables in the file.
final class SideTableRegistry: Sendable {
  private struct State {
    var records: [SideTableRecord] = []
    /// The components whose tables turned out to be damaged since the records were read.
    var excluded: Set<String> = []
    /// The components whose tables have been checked since the records were read.
    var checked: Set<String> = []
  }
  /// The registered components.
  let components: [SideTableComponent]
  let trace: StatementTrace
  let path: String
  private let state = Mutex(State())
  /// Whether writing needs more than the usual: components are excluded or missing.
  private let isUnusual = Atomic<Bool>(false)

  init(_ owners: [any SideTableOwner] = [], trace: StatementTrace, path: String) {
    (self.trace, self.path) = (trace, path)
    components = owners.map(SideTableComponent.init)
  }

  /// Adopts the records in the file, which connections read again when they change.
  func adopt(_ records: [SideTableRecord]) {
    state.withLock { $0 = State(records: records) }
    isUnusual.store(!missing.isEmpty, ordering: .releasing)
  }

  /// Returns the record of a component with tables in the file.
  subscript(name: String) -> SideTableRecord? { state.withLock { $0.records[name] } }

  /// The components that writers must have and this program does not.
  var missing: [String] {
    let known = [HistoryTables.all.name, IdentityTables.all.name] + components.map(\.tables.name)
    return state.withLock { $0.records.filter { $0.isRequired ?? false && !known.contains($0.name) }.map(\.name) }
  }

  /// Throws if this program lacks a component that writers must have.
  func checkComponents() throws {
    let missing = missing
    if !missing.isEmpty { throw StoreError(.missingComponents(missing), operation: .write, path: path) }
  }

  // MARK: Reductions

  /// Asks the components whether the store can keep less from now on. Those with damaged tables are not asked.
  func check(_ reduction: TrackingReduction, in transaction: WriteTransaction) throws {
    for component in components where isUsable(component) {
      let handle = StoreTransaction(component: component, registry: self, connection: transaction.connection, isWritable: true)
      do { try component.owner.willReduce(reduction, in: handle) } catch is SideTableFailure {}
    }
  }

  // MARK: Damage

  /// The components that transactions leave out until the next reading of the records.
  var excluded: Set<String> { isUnusual.load(ordering: .acquiring) ? state.withLock { $0.excluded } : [] }

  /// Begins a transaction that leaves components out, and records that their tables lack its changes.
  func begin(_ transaction: WriteTransaction) throws {
    guard isUnusual.load(ordering: .acquiring) else { return }
    do {
      try checkComponents()
      try SideTableList(connection: transaction.connection, path: path).markDamaged(transaction.purpose.excludedComponents)
    } catch {
      transaction.rollBack()
      throw error
    }
  }

  /// Runs a request that writes objects. If the tables of a component are damaged, runs it again without the component.
  func withoutDamage<Result>(_ body: () throws -> Result) throws -> Result {
    while true {
      do {
        let result = try body()
        // The table of the lineage has been replaced.
        if isUnusual.load(ordering: .relaxed) { state.withLock { _ = $0.excluded.remove(LineageTable.component) } }
        return result
      } catch let failure as SideTableFailure {
        guard state.withLock({ $0.excluded.insert(failure.component).inserted }) else { throw failure }
        isUnusual.store(true, ordering: .releasing)
      }
    }
  }

  /// Returns whether the tables of a component must be checked. The next call returns false.
  private func beginCheck(of name: String) -> Bool { state.withLock { $0.checked.insert(name).inserted } }

  // MARK: Consumers

  /// Returns the consumers of a request's changes, which are finished when its transaction is committed.
  func beginRequest(_ origin: TransactionOrigin, model: CompiledModel, in transaction: WriteTransaction) throws -> [any ChangeConsumer] {
    let consumers = try makeConsumers(origin, model: model, in: transaction)
    if !consumers.isEmpty { transaction.keep(SideTableConsumers(consumers)) }
    return consumers
  }

  /// Reports changes that a migration makes itself.
  func report(_ changes: [RowChange], _ origin: TransactionOrigin, model: CompiledModel, in transaction: WriteTransaction) throws {
    for consumer in try makeConsumers(origin, model: model, in: transaction) {
      for change in changes { try consumer.receive(change) }
      try consumer.finish()
    }
  }

  private func makeConsumers(
    _ origin: TransactionOrigin, model: CompiledModel, in transaction: WriteTransaction
  ) throws -> [any SideTableConsumer] {
    try components.compactMap { component in
      guard isUsable(component), !transaction.excludes(component.tables.name) else { return nil }
      let handle = StoreTransaction(component: component, registry: self, connection: transaction.connection, isWritable: true)
      return try component.owner.makeConsumer(origin, model: model, in: handle)
    }
  }
}

extension SideTableRegistry: TransactionParticipant {
  func willCommit(_ transaction: WriteTransaction) throws { try transaction.kept(SideTableConsumers.self)?.finish() }
}

/// The consumers of a request, which its transaction keeps.
private final class SideTableConsumers {
  private var consumers: [any SideTableConsumer]

  init(_ consumers: [any SideTableConsumer]) { self.consumers = consumers }

  func finish() throws {
    defer { consumers = [] }
    for consumer in consumers { try consumer.finish() }
  }
}

/// A registered component.
final class SideTableComponent: Sendable {
  let owner: any SideTableOwner
  let tables: SideTables
  private let statements: Result<StatementCheck, StoreAccessError>

  init(_ owner: any SideTableOwner) {
    self.owner = owner
    let tables = owner.sideTables
    self.tables = tables
    statements = Result { () throws(StoreAccessError) in try StatementCheck(tables.creation) }
  }

  /// Throws if a statement uses other tables.
  func check(_ sql: String, path: String) throws {
    do { try statements.get().check(sql) } catch {
      throw StoreError(.sideTableStatement(tables.name), operation: .execute, path: path, underlying: error)
    }
  }
}

extension SideTableRegistry {
  /// Whether the tables of a component can be used, or created by the first statement.
  private func isUsable(_ component: SideTableComponent) -> Bool {
    guard let record = self[component.tables.name] else { return true }
    return record.format == component.tables.format && !(record.isDamaged ?? false)
  }

  /// Checks the tables of a component before a statement uses them.
  ///
  /// - Returns: Whether the tables exist.
  func prepare(_ tables: SideTables, _ connection: Connection, createsTables: Bool) throws -> Bool {
    let list = SideTableList(connection: connection, path: path)
    // The first transaction that uses them may just have created them.
    guard let record = try self[tables.name] ?? MetadataTable.readSideTables(connection, path: path)[tables.name] else {
      if createsTables { try list.create(tables) }
      return createsTables
    }
    guard record.format == tables.format else {
      throw StoreError(.sideTableFormat(tables.name, found: record.format, expected: tables.format), operation: .read, path: path)
    }
    if record.isDamaged ?? false { throw SideTableFailure(component: tables.name, error: nil) }
    if beginCheck(of: tables.name) { try list.check(tables) }
    return true
  }
}
