public import Foundation
public import ObjectModel
public import ObjectQuery

/// The arguments of a store's initializer.
public struct StoreConfiguration: Sendable {
  /// The store's description.
  public let description: PersistentStoreDescription
  /// The compiled model.
  public let model: CompiledModel
  /// The numbers of the entities in the store, ascending.
  public let entityNumbers: [Int]

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - description: The location, type, and settings of the store.
  ///   - model: The model of the coordinator.
  ///   - entityNumbers: The numbers of the entities in the store, ascending.
  public init(description: PersistentStoreDescription, model: CompiledModel, entityNumbers: [Int]) {
    self.description = description
    self.model = model
    self.entityNumbers = entityNumbers
  }
}

/// The identifier of an object within a store, from which its ``ManagedObjectID`` is created.
public enum ReferenceObject: Sendable, Hashable {
  /// A number from 1 to 2⁴⁶ - 1.
  case integer(Int64)
  /// A string, such as a UUID.
  case string(String)
}

/// The members of one to-many relationship of several objects.
public struct RelationshipValues: Sendable {
  /// The members of all objects, one object after the other. For an ordered relationship, each object's members are in order.
  public private(set) var references: [ObjectReference] = []
  /// The end index in ``references`` of each object's members.
  public private(set) var ends: [Int] = []

  /// Creates an empty value.
  public init() {}

  /// Creates a value from the members of all objects and the end index of each object's members.
  package init(references: [ObjectReference], ends: [Int]) {
    (self.references, self.ends) = (references, ends)
  }

  /// Appends the members of the next object.
  public mutating func append(_ members: some Sequence<ObjectReference>) {
    references.append(contentsOf: members)
    ends.append(references.count)
  }

  /// The members of the object at a position in the request.
  public subscript(position: Int) -> ArraySlice<ObjectReference> {
    references[(position == 0 ? 0 : ends[position - 1])..<ends[position]]
  }
}

/// A store: it persists rows, and executes a coordinator's requests, each for many objects at once.
///
/// Register your own class with ``PersistentStoreCoordinator/registerStoreClass(_:forStoreType:)``. Rows are ``RowImage`` values: an entity
/// number, a key, a version, and the slots of a ``CompiledEntity``. A coordinator calls a store from any thread, and from several threads
/// concurrently. Requests must never see a partial save.
public protocol IncrementalStore: AnyObject, Sendable {
  /// Whether stores of the class compute derived attributes for all kinds of writes. A coordinator opens a store with derived attributes
  /// only if this is true.
  static var derivesAttributes: Bool { get }

  /// The settings of the class in addition to the common ones. Empty by default. A description created from a dictionary accepts no other
  /// settings.
  static var settings: [StoreSetting] { get }

  /// Whether stores of the class provide generations; see ``currentGeneration(in:)``.
  static var hasQueryGenerations: Bool { get }

  /// Creates a store. Must not read or write the storage.
  ///
  /// - Throws: ``StoreError`` if the description lacks something that the store needs.
  init(configuration: StoreConfiguration) throws

  /// Prepares for opening, for example by obtaining a key from a provider. Called before each ``loadMetadata()``. The default
  /// implementation does nothing.
  ///
  /// - Throws: ``StoreError`` if no key opens the store.
  func unlock() async throws

  /// Opens or creates the storage.
  ///
  /// - Returns: The metadata. A new store contains the hashes of its model. The coordinator compares the hashes with those of its model.
  /// - Throws: ``StoreError`` if the store cannot be opened.
  func loadMetadata() throws -> StoreMetadata

  /// Migrates a store that was written with another model to the configuration's model, and opens it.
  ///
  /// Called after ``loadMetadata()`` returned hashes that differ from the model's, if the description allows a migration. The migration
  /// must be atomic. If another process has already migrated the store, there is nothing to do.
  /// - Returns: The metadata after the migration.
  /// - Throws: ``StoreError``. The store must be unchanged then.
  func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata

  /// Returns the model that wrote the store, if the store saves it. Called after ``loadMetadata()``. The default implementation returns
  /// nil.
  ///
  /// - Throws: ``StoreError`` if the model cannot be read.
  func storedModel() throws -> CompiledModel?
  /// Returns whether ``migrate(_:)`` would start a migration: false if another process has already migrated the store. Must not change the
  /// store.
  ///
  /// - Throws: ``StoreError`` if no migration can start, for example with ``StoreError/Code/storeNewerThanModel``.
  func needsMigration(_ request: StoreMigrationRequest) throws -> Bool

  /// Runs one task that a migration has deferred. The default implementation does nothing.
  ///
  /// - Returns: The metadata afterwards, or nil if there was no task.
  /// - Throws: ``StoreError``. The task remains pending then.
  func finishDeferredMigrationTask() throws -> StoreMetadata?

  /// Executes a fetch, a count, a save, or a batch request.
  ///
  /// - Throws: ``StoreError`` if the storage fails or refuses the request, ``FetchPredicateError`` if the fetch is invalid.
  func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult

  /// Explains how the store would execute a fetch. The default implementation describes a search of all objects in memory.
  ///
  /// - Throws: ``FetchPredicateError`` if the fetch is invalid, ``StoreError`` if the storage fails.
  func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart

  /// Returns the rows of objects in any order. Deleted rows are omitted.
  ///
  /// - Throws: ``StoreError`` if rows cannot be read, but not for deleted rows.
  func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList

  /// Returns the members of a to-many relationship of several objects, in the order of the objects.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectIDs: The objects at the source of the relationship.
  ///   - scope: The context of the request.
  /// - Throws: ``StoreError`` if the members cannot be read.
  func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues

  /// Returns the current state of the store as a generation that later writes do not change.
  ///
  /// Requests whose ``RequestScope/generation`` is set read fetched objects, rows, and members from that generation. If nothing was
  /// committed since the last call and the generation is still referenced, the store returns the same object.
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` if the store has no generations.
  func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration

  /// Returns permanent IDs for new objects, in the order of the objects. Writes nothing but counters. Unused IDs are not reused.
  ///
  /// - Throws: ``StoreError`` if no keys are available.
  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID]

  /// Returns the ID for a reference object. The default implementation uses numbers as keys and maps strings to keys in a table of the
  /// process.
  ///
  /// - Parameters:
  ///   - entity: The entity of the object.
  ///   - referenceObject: The identifier of the object in the storage.
  ///   - scope: The context of the request.
  func newObjectID(for entity: CompiledEntity, referenceObject: ReferenceObject, in scope: RequestScope) -> ManagedObjectID

  /// Returns the reference object of an ID: the inverse of ``newObjectID(for:referenceObject:in:)``.
  func referenceObject(for objectID: ManagedObjectID, in scope: RequestScope) -> ReferenceObject

  /// Whether the store is notified when contexts register and unregister objects.
  var observesRegistration: Bool { get }
  /// Called after contexts registered objects.
  func managedObjectContextDidRegisterObjects(with objectIDs: [ManagedObjectID])
  /// Called after contexts unregistered objects.
  func managedObjectContextDidUnregisterObjects(with objectIDs: [ManagedObjectID])

  /// Replaces the application's entries in the metadata immediately.
  ///
  /// - Throws: ``StoreError`` if the metadata cannot be written.
  func setUserMetadata(_ metadata: [String: String]) throws

  /// Runs saves and fetches as one transaction, which is rolled back if the body throws. Stores without transactions throw.
  ///
  /// Requests made inside the body belong to the transaction. Requests of other threads, and of tasks that the body starts, do not see the
  /// transaction's changes until it ends, and their saves wait. A nested transaction is part of the outer one and can be rolled back
  /// separately.
  ///
  /// - Throws: Rethrows the error of the body; ``StoreError``, with ``StoreError/Code/invalidRequest`` if the store has no transactions.
  func performTransaction(_ body: () throws -> Void) throws

  /// Whether the rows of a save may refer to external values (``RowImage/external(_:)``), which the store then persists in its own way.
  /// Otherwise, and by default, the coordinator puts all bytes into the rows.
  var acceptsExternalData: Bool { get }

  /// Returns a writer for a large value that arrives in chunks. The default writer keeps the value in memory.
  ///
  /// - Throws: ``StoreError`` if no writer can be created.
  func makeExternalDataWriter() throws -> ExternalDataWriter

  /// Starts notifying an observer of commits by other processes and by other coordinators of this process.
  ///
  /// Called once, after the store was opened, if ``PersistentStoreDescription/postsRemoteChangeNotifications`` is set. ``close()`` ends the
  /// notifications. A store that only this coordinator can write never calls the observer.
  ///
  /// - Parameter observer: Called after one or more commits by others, but not after the store's own. Reads that start afterwards see these
  ///   commits. The store must not hold a lock during the call, and must call from a thread that no caller waits for.
  /// - Throws: ``StoreError`` if the storage cannot be observed; by default with ``StoreError/Code/unsupported``.
  func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws

  /// Closes the storage. Later requests throw ``StoreError/Code/noOpenStore``.
  ///
  /// - Throws: ``StoreError`` if an operation of the cleanup fails. The storage is closed nevertheless.
  func close() throws
}

extension IncrementalStore {
  /// Returns false. Stores that keep their rows in memory can use ``DerivationEvaluation`` to support derived attributes.
  public static var derivesAttributes: Bool { false }

  /// Returns no settings.
  public static var settings: [StoreSetting] { [] }

  /// Returns false.
  public static var hasQueryGenerations: Bool { false }

  /// Throws, because generations depend on the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported``.
  public func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration {
    throw StoreError(.noQueryGenerations(type: nil), operation: .pin)
  }

  /// Does nothing.
  ///
  /// - Throws: Never; other implementations may throw.
  public func unlock() async throws {}

  /// Throws, because migration depends on the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/modelIncompatible``.
  public func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata {
    throw StoreError(.cannotBeMigrated, operation: .migrate)
  }

  /// Returns nil: the store does not save its model.
  ///
  /// - Throws: Never; other implementations may throw.
  public func storedModel() throws -> CompiledModel? { nil }

  /// Returns true. ``migrate(_:)`` reports unsupported migrations.
  ///
  /// - Throws: Never; other implementations may throw.
  public func needsMigration(_ request: StoreMigrationRequest) throws -> Bool { true }

  /// Does nothing and returns nil.
  ///
  /// - Throws: Never; other implementations may throw.
  public func finishDeferredMigrationTask() throws -> StoreMetadata? { nil }

  /// Describes a search of all objects of the entity in memory.
  ///
  /// - Throws: Never; other implementations may throw.
  public func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart {
    let name = specification.entityName
    guard specification.predicate != nil else { return FetchExplanation.StorePart(method: .memory) }
    let warning = FetchExplanation.Warning(
      .memory, entityName: name, message: "every object of \(name) is compared in memory: the store has no query language")
    return FetchExplanation.StorePart(method: .memory, warnings: [warning])
  }

  /// Uses a number as the key, and maps a string to a key in a table of the process.
  ///
  /// - Parameters:
  ///   - entity: The entity of the object.
  ///   - referenceObject: The identifier of the object in the storage.
  ///   - scope: The context of the request.
  public func newObjectID(for entity: CompiledEntity, referenceObject: ReferenceObject, in scope: RequestScope) -> ManagedObjectID {
    let key =
      switch referenceObject {
      case .integer(let key): key
      case .string(let text): scope.objectIDSpace.key(forReference: text, entityNumber: entity.number)
      }
    return ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: UInt32(entity.number), key: key)
  }

  /// Returns the string that was mapped to the key, or else the key itself.
  public func referenceObject(for objectID: ManagedObjectID, in scope: RequestScope) -> ReferenceObject {
    scope.objectIDSpace.internedReference(forKey: objectID.key).map(ReferenceObject.string) ?? .integer(objectID.key)
  }

  /// Returns false.
  public var observesRegistration: Bool { false }
  /// Does nothing.
  public func managedObjectContextDidRegisterObjects(with objectIDs: [ManagedObjectID]) {}
  /// Does nothing.
  public func managedObjectContextDidUnregisterObjects(with objectIDs: [ManagedObjectID]) {}

  /// Throws, because metadata depend on the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest``.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    throw StoreError(.noMetadataOfApplication, operation: .setMetadata)
  }

  /// Throws, because transactions depend on the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest``.
  public func performTransaction(_ body: () throws -> Void) throws {
    throw StoreError(.noTransactions, operation: .transaction)
  }

  /// Returns false.
  public var acceptsExternalData: Bool { false }

  /// Returns a writer that keeps the value in memory.
  ///
  /// - Throws: Never; other implementations may throw.
  public func makeExternalDataWriter() throws -> ExternalDataWriter { ExternalDataWriter() }

  /// Throws, because observation depends on the storage.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported``.
  public func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws {
    throw StoreError(.remoteChangesUnsupported, operation: .watch)
  }

  /// Does nothing.
  ///
  /// - Throws: Never; other implementations may throw.
  public func close() throws {}
}

/// A store whose lineage is read when it is first needed, so that opening the store does not have to.
package protocol LineageStore: IncrementalStore {
  /// Returns the UUID of the store's lineage, and assigns one if the store has none of its own and can be written. Nil if it cannot be
  /// written, and inside a transaction over several requests.
  func lineageIdentifier() throws -> String?

  /// Assigns another lineage, in the current transaction or in one of its own, because the file turned out to be a copy or an earlier state
  /// although nothing in it or next to it shows that. New objects then get other stable IDs than those of the other file.
  ///
  /// - Throws: ``StoreError`` if the store cannot be written, or the table of the lineage is damaged.
  func renewLineage() throws -> String

  /// Records, in the current transaction or in one of its own, that other devices will know the present content of the store: its objects,
  /// and the keys and stable IDs that it has assigned. Call ``publishLineageMark()`` after the commit, and before the content is sent.
  ///
  /// - Throws: ``StoreError`` if the store cannot be written, or the table of the lineage is damaged.
  func advanceLineageMark() throws

  /// Records the same outside of the store's database. From then on, an earlier state of the database that replaces its content in the same
  /// file gets another lineage. Must not be called in a transaction.
  ///
  /// - Returns: Whether it is recorded. False, and not an error, if the folder of the store cannot be written.
  /// - Throws: ``StoreError`` if the store cannot be read.
  @discardableResult
  func publishLineageMark() throws -> Bool
}

/// The metadata of a store, saved inside it.
///
/// ```swift
/// let description = PersistentStoreDescription(url: url, key: key)
/// let metadata = try await PersistentStoreCoordinator.metadataForPersistentStore(with: description)
/// print(metadata.storeIdentifier, metadata.versionIdentifiers, metadata.userMetadata["importedOn"] ?? "never")
/// ```
///
/// For an open store, use ``PersistentStore/metadata``. Reading metadata from a file does not require the store's model, but it requires
/// the key, because metadata are encrypted too. Changing a copy of this value does not change the store.
public struct StoreMetadata: Sendable {
  /// The UUID of the store, which is part of its object IDs.
  public var storeIdentifier: String
  /// The UUID of the lineage of the store's file, or nil if this type of store has none.
  ///
  /// A store and its copies have the same ``storeIdentifier`` and different lineages, so that two files that continue from the same state
  /// are never mistaken for one. A backup, a replacement by a copy, a moved store and an imported plaintext copy get a new lineage. A
  /// rotation of the data key, a compaction, a migration in place, and renaming the file keep it: no other file remains that could
  /// continue.
  ///
  /// A copy by another program (`cp`, `rsync`, a container image, a restored archive) is detected by the creation time of its file. It gets
  /// its lineage when ``PersistentStore/metadata`` of the copy, opened for writing, are first read, or when objects with stable IDs are
  /// first inserted. Until then, and if the store cannot be written, its lineage is nil. The same applies to a file that was overwritten in
  /// place with an earlier state of itself, if the store is synchronized and has sent something since: a mark in a file next to the store
  /// shows that. This cannot detect that the file with the mark was overwritten too, that a whole file system was cloned or reset to a
  /// snapshot, and copies on file systems that do not report when a file was created. A store that was moved to another file system counts
  /// as a copy.
  public var lineageIdentifier: String?
  /// The name of the store type.
  public var storeType: String
  /// The version hashes of the model that wrote the store, by entity name. Empty if the store is new.
  public var modelHashes: [String: Data]
  /// The checksum of the model that wrote the store (``CompiledModel/checksum``). Empty if this type of store saves none.
  public var modelChecksum = ""
  /// Descriptions of the tasks that migrations have deferred, in the order of execution.
  public var deferredMigrationTasks: [String] = []
  /// The version identifiers of the model.
  public var versionIdentifiers: Set<String> = []
  /// The application's entries.
  public var userMetadata: [String: String] = [:]

  /// Creates metadata.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The UUID of the store.
  ///   - storeType: The name of the store type.
  ///   - modelHashes: The version hashes of the store's entities, by name.
  public init(storeIdentifier: String, storeType: String, modelHashes: [String: Data]) {
    self.storeIdentifier = storeIdentifier
    self.storeType = storeType
    self.modelHashes = modelHashes
  }
}
