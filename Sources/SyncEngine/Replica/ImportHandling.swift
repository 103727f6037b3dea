package import ObjectModel
import ObjectStore
import SyncCore
import Synchronization

/// The objects that synchronization has changed in a transaction.
package struct ImportedChanges: Hashable, Sendable {
  package let inserted: [ManagedObjectID]
  package let updated: [ManagedObjectID]
  package let deleted: [ManagedObjectID]
}

/// What the application does with imports before they are visible.
package final class ImportHandling: Sendable {
  package typealias Handler = @Sendable (ImportedChanges) throws -> Void

  private let current = Mutex<Handler?>(nil)

  /// Called at the end of each transaction of synchronization that has changed objects. It can save contexts of the coordinator, whose
  /// saves are a part of the transaction. If it throws, the transaction is rolled back.
  package var handler: Handler? {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }
}

/// The objects that the running transaction has changed, if that is needed.
struct ImportCollector {
  private enum State {
    case inserted, updated, deleted
  }
  private var states: [ObjectReference: State] = [:]

  var isEmpty: Bool { states.isEmpty }

  mutating func addInserted(_ object: ObjectReference) { states[object] = states[object] == .deleted ? .updated : .inserted }

  mutating func addUpdated(_ object: ObjectReference) { if states[object] == nil { states[object] = .updated } }

  mutating func addDeleted(_ object: ObjectReference) {
    if states.updateValue(.deleted, forKey: object) == .inserted { states[object] = nil }
  }

  func changes(in space: ObjectIDSpace) -> ImportedChanges {
    func objects(_ state: State) -> [ManagedObjectID] {
      states.filter { $0.value == state }.keys.sorted { $0.rawValue < $1.rawValue }.map(space.objectID)
    }
    return ImportedChanges(inserted: objects(.inserted), updated: objects(.updated), deleted: objects(.deleted))
  }
}

extension StoreReplica {
  /// Lets the application change what the transaction has imported.
  ///
  /// - Throws: ``SyncError`` with `importHandlerFailed` if the application throws an error.
  func handleImport() throws {
    guard let handler = importHandling.handler, !running.imported.isEmpty else { return }
    let changes = running.imported.changes(in: store.space)
    running.imported = ImportCollector()
    // Contexts see the import with the changes of the application only.
    store.combineChanges()
    do { try handler(changes) } catch is CancellationError { throw CancellationError() } catch {
      throw SyncError(.importHandlerFailed, path: path, underlying: error)
    }
  }
}

extension SyncError.Reason {
  fileprivate static var importHandlerFailed: Self {
    Self(
      .importHandlerFailed,
      "The application's handler of imports has failed, so the import was undone as a whole. Nothing is lost: it is repeated, also by the "
        + "next attempt to synchronize.")
  }
}
