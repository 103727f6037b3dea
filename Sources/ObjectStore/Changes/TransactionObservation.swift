import Foundation
package import ObjectModel
import Synchronization

/// The transaction observers of a coordinator. Safe to use from any thread.
package final class TransactionObservers: Sendable {
  struct Registration: Sendable {
    let observer: any TransactionObserver
    let options: TransactionObserverOptions
    let model: CompiledModel
    let needs: ChangeNeeds
  }
  private let isUsed = Atomic<Bool>(false)
  /// The running transactions, by number, with the threads that call observers.
  private let running = Mutex<[UInt64: TransactionObservation.Caller]>([:])
  private let registrations = Mutex<[Registration]>([])
  private static let lastTransaction = Atomic<UInt64>(0)

  package init() {}

  var isEmpty: Bool { !isUsed.load(ordering: .acquiring) }

  func add(_ observer: any TransactionObserver, _ options: TransactionObserverOptions, model: CompiledModel) {
    let registration = Registration(observer: observer, options: options, model: model, needs: options.needs(in: model))
    registrations.withLock { registrations in
      registrations.removeAll { $0.observer === observer }
      registrations.append(registration)
      isUsed.store(true, ordering: .releasing)
    }
  }

  func remove(_ observer: any TransactionObserver) {
    registrations.withLock { registrations in
      registrations.removeAll { $0.observer === observer }
      isUsed.store(!registrations.isEmpty, ordering: .releasing)
    }
  }

  /// Begins the observation of a transaction, or returns nil if there are no observers.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The UUID of the store.
  ///   - model: The model of the reported objects.
  package func begin(storeIdentifier: String, model: CompiledModel) -> TransactionObservation? {
    guard isUsed.load(ordering: .acquiring) else { return nil }
    let registrations = registrations.withLock { $0 }
    if registrations.isEmpty { return nil }
    let transaction = ObservedTransaction(
      id: Self.lastTransaction.add(1, ordering: .relaxed).newValue, storeIdentifier: storeIdentifier,
      origin: TransactionOrigin(.save))
    let observation = TransactionObservation(of: transaction, by: registrations, model: model, observers: self)
    running.withLock { $0[transaction.id] = observation.caller }
    return observation
  }

  fileprivate func end(_ transaction: ObservedTransaction) { running.withLock { _ = $0.removeValue(forKey: transaction.id) } }

  /// Throws if the current thread is inside a call of an observer, in which it cannot write to the stores.
  package func checkNotCalling(_ operation: StoreOperation) throws(StoreError) {
    guard isUsed.load(ordering: .acquiring) || !running.withLock(\.isEmpty) else { return }
    let thread = UInt(pthread_self())
    if running.withLock({ $0.values.contains { $0.thread.load(ordering: .relaxed) == thread } }) {
      throw StoreError(.writeInObserver, operation: operation)
    }
  }
}

/// The observation of one transaction, from its begin to its end: passes its changes to the observers that asked for them.
///
/// `@unchecked Sendable`: used only by the thread of the transaction.
package final class TransactionObservation: ChangeConsumer, @unchecked Sendable {
  fileprivate struct Observer {
    let observer: any TransactionObserver
    let needs: ChangeNeeds
    let includesOldValues: Bool
    let includesNewValues: Bool
    /// The number of changes that the observer has seen and that were not undone.
    var count = 0
    /// Whether the observer has seen the transaction.
    var isInvolved = false
  }
  /// The thread that is calling an observer.
  final class Caller: Sendable {
    /// The thread, or 0 if no call is running.
    let thread = Atomic<UInt>(0)
  }
  private var transaction: ObservedTransaction
  private var observers: [Observer]
  private let registry: TransactionObservers
  fileprivate let caller = Caller()
  /// Whether the observers have accepted the transaction in its present state.
  private var isAccepted = false
  package let needs: ChangeNeeds
  /// The model of the changes that can be reported.
  package let model: CompiledModel

  /// A state of the transaction that a part of it can be rolled back to.
  package final class Mark: Sendable {
    fileprivate let counts: [Int]
    fileprivate init(_ counts: [Int]) { self.counts = counts }
  }

  init(
    of transaction: ObservedTransaction, by registrations: [TransactionObservers.Registration], model: CompiledModel,
    observers registry: TransactionObservers
  ) {
    self.transaction = transaction
    self.registry = registry
    self.model = model
    observers = registrations.map { registration in
      let needs = registration.model === model ? registration.needs : registration.options.needs(in: model)
      return Observer(
        observer: registration.observer, needs: needs, includesOldValues: registration.options.includesOldValues,
        includesNewValues: registration.options.includesNewValues)
    }
    needs = observers.dropFirst().reduce(observers[0].needs) { $0.union($1.needs) }
  }

  /// Names the request whose changes follow.
  package func begin(_ origin: TransactionOrigin) { transaction.origin = origin }

  package func receive(_ change: RowChange) {
    isAccepted = false
    for index in observers.indices {
      guard let change = observers[index].limited(change, model) else { continue }
      observers[index].count += 1
      observers[index].isInvolved = true
      call { observers[index].observer.didChange(change, in: transaction) }
    }
  }

  /// Calls an observer, which must not write to the stores.
  @inline(__always) private func call<Result>(_ body: () throws -> Result) rethrows -> Result {
    caller.thread.store(UInt(pthread_self()), ordering: .relaxed)
    defer { caller.thread.store(0, ordering: .relaxed) }
    return try body()
  }

  // MARK: Completion

  package func mark() -> Mark { Mark(observers.map(\.count)) }

  /// Reports that everything after a mark was rolled back.
  package func undo(to mark: Mark) {
    for (index, count) in mark.counts.enumerated() where observers[index].count > count {
      isAccepted = false
      observers[index].count = count
      call { observers[index].observer.didUndoChanges(in: transaction, keeping: count) }
    }
  }

  /// Asks the observers whether the transaction can be committed. Does nothing if they have been asked since the last change.
  package func willCommit() throws {
    if isAccepted { return }
    for observer in observers where observer.isInvolved { try call { try observer.observer.willCommit(transaction) } }
    isAccepted = true
  }

  package func didCommit() {
    for observer in observers where observer.isInvolved { call { observer.observer.didCommit(transaction) } }
    registry.end(transaction)
  }

  package func didRollBack() {
    for observer in observers where observer.isInvolved { call { observer.observer.didRollback(transaction) } }
    registry.end(transaction)
  }
}

extension TransactionObservation.Observer {
  /// Returns the part of a change that the observer asked for, or nil if it did not ask for the change.
  fileprivate func limited(_ change: RowChange, _ model: CompiledModel) -> RowChange? {
    switch change {
    case .insert(let row):
      guard needs.includes(row.reference.entity) else { return nil }
      return .insert(row.limited(toOld: false, new: includesNewValues))
    case .update(let row):
      // An update without slots only increments the version. The changed relationship is reported itself.
      guard !row.slots.isEmpty, needs.includes(row.reference.entity, row.slots) else { return nil }
      return .update(row.limited(toOld: includesOldValues, new: includesNewValues))
    case .delete(let row):
      guard needs.includes(row.reference.entity) else { return nil }
      return .delete(row.limited(toOld: includesOldValues, new: false))
    case .links(let links): return needs.relationships[links.relationship.id] ? change : nil
    case .order(let order): return needs.relationships[order.relationship.id] ? change : nil
    case .schema(let schema): return includes(schema, model) ? .schema(schema.limited(toValue: includesNewValues)) : nil
    case .unspecified: return change
    }
  }

  /// Returns whether the observer asked for a change of all objects of an entity. What the model no longer has, it cannot name.
  private func includes(_ change: SchemaChange, _ model: CompiledModel) -> Bool {
    guard let entity = model.entity(named: change.entityName) else { return needs.includesEverything }
    guard needs.includes(entity.number) else { return false }
    switch change.propertyName.flatMap(entity.property(named:)) {
    case .attribute(let slot): return needs[entity.number].slots?.contains(slot.index) ?? true
    case .toOne(let relationship): return needs[entity.number].slots?.contains(relationship.index) ?? true
    case .toMany(let relationship): return needs.relationships[relationship.id]
    case .composite, .fetched, nil: return needs[entity.number].slots == nil
    }
  }
}

/// A store that reports its changes itself while it writes them. The coordinator reports the changes of other stores.
package protocol ChangeReportingStore: IncrementalStore {
  /// Sets the observers of the store's transactions. Called once, before the store is opened.
  func setTransactionObservers(_ observers: TransactionObservers)
  /// Asks the observers of the current transaction whether it can be committed. Its commit does not ask them again.
  func askObserversOfTransaction() throws
}
