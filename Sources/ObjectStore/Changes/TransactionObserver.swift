import ObjectModel

/// An object that sees the changes of a coordinator's transactions while they run, and can prevent their commit.
///
/// ```swift
/// import CipherData
/// import Synchronization
///
/// struct NegativePrice: Error {}
///
/// final class PriceGuard: TransactionObserver {
///   private let prices = Mutex<[ObservedTransaction: [Int]]>([:])
///
///   func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
///     var price = 0
///     if case .update(let row) = change { price = row.newValues?["price"] as? Int ?? 0 }
///     prices.withLock { $0[transaction, default: []].append(price) }
///   }
///   func willCommit(_ transaction: ObservedTransaction) throws {
///     if prices.withLock({ $0[transaction] ?? [] }).contains(where: { $0 < 0 }) { throw NegativePrice() }
///   }
///   func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {
///     prices.withLock { $0[transaction] = Array(($0[transaction] ?? []).prefix(count)) }
///   }
///   func didCommit(_ transaction: ObservedTransaction) { prices.withLock { $0[transaction] = nil } }
///   func didRollback(_ transaction: ObservedTransaction) { prices.withLock { $0[transaction] = nil } }
/// }
///
/// func guardPrices(in coordinator: PersistentStoreCoordinator) throws {
///   let options = TransactionObserverOptions(entityNames: ["Book"], propertyNames: ["price"], includesNewValues: true)
///   try coordinator.addTransactionObserver(PriceGuard(), options: options)
/// }
/// ```
///
/// An observer sees the saves, batch requests, imports, and migrations of this coordinator in every type of store, also in those of the
/// application. Commits of other processes and coordinators are reported by the history (``PersistentHistorySequence``). Changes are passed
/// on while the transaction runs and are not collected, so a batch request over millions of objects takes no more memory.
///
/// A migration is one transaction. It reports what follows from the two models as ``RowChange/schema(_:)``, and the objects that custom
/// stages change like the objects of a save. All of it is in terms of the coordinator's model, also if a stage writes an intermediate
/// version: objects keep their IDs, and what later stages remove is left out. Only a migration with a mapping model, which replaces all
/// objects, is reported as ``RowChange/unspecified``, and so is that of a store of the application, before it begins. An in-memory store
/// is never migrated. If ``willCommit(_:)`` throws, the store is not opened, and it is as it was before the migration.
///
/// All methods are called synchronously on the thread of the transaction, while other writers wait: return quickly, and do not use a
/// context or the coordinator of the store. Saves and requests in a call throw ``StoreError``, as does closing a store. Waiting in a call for
/// a write of another thread is a deadlock. Changes of the saving context's objects in a call remain unsaved. Transactions in different stores
/// can run at the same time. A transaction that changes nothing that the observer asked for is not reported.
public protocol TransactionObserver: AnyObject, Sendable {
  /// Called for each change, in the order of the changes.
  ///
  /// A store of the application without transactions reports the changes of a save before it writes it, and accepts no batch requests while
  /// there are observers. For batch requests, stores of the application report neither the links of deleted objects nor, unless they execute
  /// the request as a save (``BatchEvaluation``), former values.
  func didChange(_ change: RowChange, in transaction: ObservedTransaction)

  /// Called when all changes have been reported, before the commit. If a save or a request writes to several stores that support
  /// transactions, all observers of all these stores are called before the first commit.
  ///
  /// - Throws: Any error, which rolls the transaction back. The caller of the save or request receives this error.
  func willCommit(_ transaction: ObservedTransaction) throws

  /// Called when a part of the transaction was rolled back and the rest continues: a request in
  /// ``ManagedObjectContext/performTransaction(_:)`` failed, or a nested transaction.
  ///
  /// - Parameters:
  ///   - transaction: The transaction.
  ///   - count: The number of changes reported to the observer that remain. Later ones were undone.
  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int)

  /// Called after the commit, before contexts and other observers of changes are notified.
  func didCommit(_ transaction: ObservedTransaction)

  /// Called after the transaction was rolled back with all its changes.
  func didRollback(_ transaction: ObservedTransaction)
}

/// A transaction that a ``TransactionObserver`` sees.
public struct ObservedTransaction: Sendable, Hashable, Identifiable {
  /// A number that is unique in the process.
  public let id: UInt64
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The transaction author of the context.
  public var author: String? { origin.author }
  /// The name of the context.
  public var contextName: String? { origin.contextName }
  /// Whether the current changes are made on this device. False for changes of another device that synchronization applies.
  public var isLocal: Bool { origin.isLocal }
  /// The origin of the current changes, and at the end of the transaction that of the last ones.
  package internal(set) var origin: TransactionOrigin

  /// Whether two values denote the same transaction.
  public static func == (one: ObservedTransaction, other: ObservedTransaction) -> Bool { one.id == other.id }
  /// Hashes the transaction's number.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The changes that a ``TransactionObserver`` asks for. The store reads former values only if an observer asks for them.
public struct TransactionObserverOptions: Sendable, Hashable {
  /// The names of the entities, including their subentities, or nil for all. A change of a relationship is reported if an entity at either
  /// end is included.
  public var entityNames: Set<String>?
  /// The names of attributes and relationships, or nil for all. Restricts the reported updates, links, and orders, but not insertions and
  /// deletions. Each must be a property of one of the entities.
  public var propertyNames: Set<String>?
  /// Whether updates and deletions include the former values (``ChangedRow/oldValues``). False by default.
  public var includesOldValues = false
  /// Whether insertions and updates include the new values (``ChangedRow/newValues``). False by default.
  public var includesNewValues = false

  /// Creates options.
  ///
  /// - Parameters:
  ///   - entityNames: The names of the entities, or nil for all.
  ///   - propertyNames: The names of attributes and relationships, or nil for all.
  ///   - includesOldValues: Whether updates and deletions include the former values.
  ///   - includesNewValues: Whether insertions and updates include the new values.
  public init(
    entityNames: Set<String>? = nil, propertyNames: Set<String>? = nil, includesOldValues: Bool = false, includesNewValues: Bool = false
  ) {
    self.entityNames = entityNames
    self.propertyNames = propertyNames
    self.includesOldValues = includesOldValues
    self.includesNewValues = includesNewValues
  }

  /// Returns the corresponding needs in a model.
  func needs(in model: CompiledModel) -> ChangeNeeds {
    var isIncluded = [Bool](repeating: entityNames == nil, count: model.entities.count)
    for name in entityNames ?? [] { for number in model.entity(named: name)?.subtree ?? 0..<0 { isIncluded[number] = true } }
    let entities = model.entities.map { entity in
      var needs = ChangeNeeds.OfEntity()
      needs.isIncluded = isIncluded[entity.number]
      needs.includesOldRow = includesOldValues
      needs.includesDeletedRow = includesOldValues
      needs.includesNewRow = includesNewValues
      needs.includesOldDerivedRow = includesOldValues
      needs.includesNewDerivedRow = includesNewValues
      if let propertyNames {
        var slots = SlotMask()
        for slot in entity.slots where propertyNames.contains(slot.name) { slots.insert(slot.index) }
        for composite in entity.composites where propertyNames.contains(composite.name) {
          for slot in composite.slots { slots.insert(slot) }
        }
        needs.slots = slots
      }
      return needs
    }
    let relationships = model.relationships.map { relationship in
      let ends = [relationship.sourceEntity, relationship.destinationEntity]
      guard ends.contains(where: { model.entities[$0].subtree.contains { isIncluded[$0] } }) else { return false }
      guard let propertyNames else { return true }
      return propertyNames.contains(relationship.name) || model.inverse(of: relationship).map { propertyNames.contains($0.name) } ?? false
    }
    return ChangeNeeds(entities: entities, relationships: relationships)
  }
}

extension PersistentStoreCoordinator {
  /// Adds an observer of the coordinator's transactions. It is kept until it is removed, and sees the transactions that begin from now on.
  ///
  /// - Parameters:
  ///   - observer: The observer. Adding it again replaces its options.
  ///   - options: The changes that the observer asks for. By default, all changes without values.
  /// - Throws: ``StoreError`` if the model has no entity with a given name, or none of the entities has a property with a given name.
  public func addTransactionObserver(
    _ observer: any TransactionObserver, options: TransactionObserverOptions = TransactionObserverOptions()
  ) throws(StoreError) {
    for name in options.entityNames ?? [] where compiledModel.entity(named: name) == nil {
      throw StoreError(.unknownEntity(name, known: compiledModel.entities.map(\.name)), operation: .observe)
    }
    let included = options.entityNames.map { names in
      names.flatMap { compiledModel.entity(named: $0)?.subtree ?? 0..<0 }.map { compiledModel.entities[$0] }
    }
    for name in options.propertyNames ?? [] where !(included ?? compiledModel.entities).contains(where: { $0.property(named: name) != nil })
    {
      throw StoreError(.unknownObservedProperty(name), operation: .observe)
    }
    transactionObservers.add(observer, options, model: compiledModel)
  }

  /// Removes an observer. It still sees the end of the transactions that have begun.
  public func removeTransactionObserver(_ observer: any TransactionObserver) { transactionObservers.remove(observer) }
}
