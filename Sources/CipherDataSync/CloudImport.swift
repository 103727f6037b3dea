public import ObjectContext
public import ObjectModel
import ObjectStore
import SyncEngine

/// The objects that an import has changed: see ``CloudImportHandler``.
public struct CloudImport: Sendable, Hashable {
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The inserted objects.
  public let inserted: [ManagedObjectID]
  /// The objects with changed properties or members.
  public let updated: [ManagedObjectID]
  /// The deleted objects, which cannot be fetched anymore.
  public let deleted: [ManagedObjectID]

  init(_ changes: ImportedChanges, storeIdentifier: String) {
    self.storeIdentifier = storeIdentifier
    (inserted, updated, deleted) = (changes.inserted, changes.updated, changes.deleted)
  }
}

/// A function that changes an import before it becomes visible.
///
/// It receives a context that contains the import, and the changed objects. What it changes is saved when it returns, as a save of its own
/// that is sent to the other devices. The import and this save become visible in one step: no other context and no other process sees one
/// without the other, and they are written together or not at all.
///
/// Two devices can make the same object, such as a tag with a certain name. Both receive the other one's, and both call their handlers, so
/// a handler must decide in the same way on all devices: for example by the least ``ManagedObject/stableID``.
///
/// ```swift
/// import CipherData
/// import CipherDataSync
///
/// func mergeTags(of container: PersistentCloudContainer) {
///   container.importHandler = { context, changes in
///     for id in changes.inserted where id.entityName == "Tag" {
///       let tag = context.object(with: id)
///       guard !tag.isDeleted, let name = try tag.value(forKey: "name") as? String else { continue }
///       var request = FetchRequest<ManagedObject>(entityName: "Tag")
///       request.predicate = .compare("name", .equal, name)
///       let same = try context.fetch(request).map { (id: try $0.stableID?.uuidString ?? "", tag: $0) }.sorted { $0.id < $1.id }
///       for (_, other) in same.dropFirst() {
///         for note in try other.value(forKey: "notes") as? Set<ManagedObject> ?? [] { try note.setValue(same[0].tag, forKey: "tag") }
///         context.delete(other)
///       }
///     }
///   }
/// }
/// ```
///
/// It is called on a thread of synchronization while saves of other contexts wait, so it must return soon. It must use this context only,
/// and must not wait for others. The context is new in each call, and has the container's merge policy.
///
/// If it throws an error, or the save fails, the import is undone as a whole. An event reports a ``SyncError`` with `importHandlerFailed`, and
/// the import is repeated by the next attempts. Until it succeeds, nothing is imported, and changes that depend on it are not sent. Nothing
/// is lost.
///
/// It is also called when synchronization changes objects for other reasons: for example, if an object is deleted because another device has
/// deleted one that it requires. Processes without the handler, such as `cipherdata sync run`, import without it.
public typealias CloudImportHandler = @Sendable (_ context: ManagedObjectContext, _ changes: CloudImport) throws -> Void

extension PersistentCloudContainer {
  /// The name of the context that a handler of imports receives, for the history.
  private static let importContextName = "import"

  /// Returns what is called with each import of a store; nil without a handler.
  func importHandling(of store: PersistentStore) -> ImportHandling.Handler? {
    guard let handler = importHandler else { return nil }
    let (coordinator, classes, mergePolicy) = (persistentStoreCoordinator, classes, mergePolicy)
    return { changes in
      let context = ManagedObjectContext(coordinator: coordinator, classes: classes, mergePolicy: mergePolicy)
      context.name = Self.importContextName
      try handler(context, CloudImport(changes, storeIdentifier: store.identifier))
      if context.hasChanges { try context.save() }
    }
  }
}
