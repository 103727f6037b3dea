// IncrementalStore: the contract between coordinators and stores. The built-in stores use nothing else.
public import ObjectModel
public import ObjectQuery

/// What a store's initializer is given.
public struct StoreConfiguration: Sendable {
  /// The store's description.
  public let description: PersistentStoreDescription
  /// The model, frozen.
  public let model: CompiledModel
  /// The numbers of the entities that the store holds, ascending.
  public let entityNumbers: [Int]

  /// Makes a configuration.
  ///
  /// - Parameters:
  ///   - description: The store's place, type and settings.
  ///   - model: The model of the coordinator.
  ///   - entityNumbers: The entities that the store holds, by their numbers.
  public init(description: PersistentStoreDescription, model: CompiledModel, entityNumbers: [Int]) {
    self.description = description
    self.model = model
    self.entityNumbers = entityNumbers
  }
}

/// What stands for an object in a store: what ``ManagedObjectID`` is made of.
public enum ReferenceObject: Sendable, Hashable {
  /// A number from 1 to 2⁴⁶ - 1.
  case integer(Int64)
  /// A text, such as a UUID's.
  case string(String)
}

/// The related objects of several objects, for one to-many relationship.
public struct RelationshipValues: Sendable {
  /// The members of all objects, one object's after the other's, in their order if the relationship has one.
  public private(set) var references: [ObjectReference] = []
  /// Where the members of each object end.
  public private(set) var ends: [Int] = []

  /// No objects.
  public init() {}

  /// The members of all objects, and where those of each end.
  package init(references: [ObjectReference], ends: [Int]) {
    (self.references, self.ends) = (references, ends)
  }

  /// Adds the members of the next object.
  public mutating func append(_ members: some Sequence<ObjectReference>) {
    references.append(contentsOf: members)
    ends.append(references.count)
  }

  /// The members of the object at a position of the request.
  public subscript(position: Int) -> ArraySlice<ObjectReference> {
    references[(position == 0 ? 0 : ends[position - 1])..<ends[position]]
  }
}

/// A store: it keeps rows, and answers a coordinator's requests about many objects at once.
///
/// Register a class of your own with ``PersistentStoreCoordinator/registerStoreClass(_:forStoreType:)``. Rows are ``RowImage``s: an entity's number, a
/// key, a version and the slots of a ``CompiledEntity``. A coordinator calls a store from any thread, also from several at once; requests must not
/// see half a save.
public protocol IncrementalStore: AnyObject, Sendable {
  /// Whether stores of the class compute derived attributes, in every way of writing. For entities that have derived attributes a coordinator opens no other
  /// store.
  static var derivesAttributes: Bool { get }

  /// The settings that the class knows beside those of every description; none by default. A description that is made of a dictionary takes
  /// no others.
  static var settings: [StoreSetting] { get }

  /// Whether stores of the class can hold a state of their rows still, see ``currentGeneration(in:)``.
  static var hasQueryGenerations: Bool { get }

  /// Keeps the configuration; reads and writes nothing.
  ///
  /// - Throws: ``StoreError`` where the description lacks what the store needs.
  init(configuration: StoreConfiguration) throws

  /// Gets ready to open, for example by asking a key provider. It is called before each ``loadMetadata()``, and does nothing by default.
  ///
  /// - Throws: ``StoreError`` where no key opens the store.
  func unlock() async throws

  /// Opens or creates the storage.
  ///
  /// - Returns: The metadata. A new store has written the hashes of its model; the coordinator compares them with the model's.
  /// - Throws: ``StoreError`` that says why the store does not open.
  func loadMetadata() throws -> StoreMetadata

  /// Brings a store that another model wrote in step with the configuration's model, and opens it.
  ///
  /// Called after ``loadMetadata()`` has answered with hashes that differ from the model's, where the description allows it. Either the whole
  /// migration takes effect or nothing of it. Another process may have been faster: then there is nothing to do.
  /// - Returns: The metadata after it.
  /// - Throws: ``StoreError``; the store is then as it was.
  func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata

  /// The model that wrote the store, where the store keeps it; nil by default. Called after ``loadMetadata()``.
  ///
  /// - Throws: ``StoreError`` where the model cannot be read.
  func storedModel() throws -> CompiledModel?
  /// Whether a migration would begin: false where somebody else has brought the store in step meanwhile. Asking changes nothing.
  ///
  /// - Throws: ``StoreError`` where no migration can begin, such as one with ``StoreError/Code/storeNewerThanModel``.
  func beginsMigration(_ request: StoreMigrationRequest) throws -> Bool

  /// Does one task that a deferred migration has put off; does nothing by default.
  ///
  /// - Returns: The metadata after it; nil where there was nothing to do.
  /// - Throws: ``StoreError``; the task is then to be done as before.
  func finishDeferredMigrationTask() throws -> StoreMetadata?

  /// Answers a fetch, a count or a save.
  ///
  /// - Throws: ``StoreError`` for what the storage refuses, ``FetchPredicateError`` for what cannot be asked.
  func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult

  /// How the store would answer a fetch. The default says that it goes through its objects in memory.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` where the storage refuses.
  func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart

  /// The rows of objects, in any order; rows that are gone are missing from the answer.
  ///
  /// - Throws: ``StoreError`` where the rows cannot be read; never for rows that are gone.
  func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList

  /// The members of a to-many relationship of several objects, in the order of the objects.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectIDs: The objects at its source.
  ///   - scope: What the request belongs to.
  /// - Throws: ``StoreError`` where the members cannot be read.
  func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues

  /// The state of the store as it is now, which holds still as long as somebody has it, whatever is written meanwhile.
  ///
  /// Fetches, rows and members whose ``RequestScope/generation`` is it are answered from it. Where nothing was committed since the last call the store gives the
  /// same object again, if somebody has it still.
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` from a store that has none.
  func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration

  /// Permanent IDs for new objects, as many and in the same order. Nothing is written but counters; IDs that are not used are lost.
  ///
  /// - Throws: ``StoreError`` where no key can be had.
  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID]

  /// The ID of the object that something stands for. The default takes numbers as keys and keeps texts in a table of the process.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - referenceObject: The key of the object in the storage.
  ///   - scope: What the request belongs to.
  func newObjectID(for entity: CompiledEntity, referenceObject: ReferenceObject, in scope: RequestScope) -> ManagedObjectID

  /// What stands for an object: the inverse of ``newObjectID(for:referenceObject:in:)``.
  func referenceObject(for objectID: ManagedObjectID, in scope: RequestScope) -> ReferenceObject

  /// Whether the store wants to hear of objects that contexts register.
  var wantsRegistrationNotices: Bool { get }
  /// Called after contexts have registered objects.
  func managedObjectContextDidRegisterObjects(with objectIDs: [ManagedObjectID])
  /// Called after contexts have forgotten objects.
  func managedObjectContextDidUnregisterObjects(with objectIDs: [ManagedObjectID])

  /// Changes what the application keeps in the metadata, at once.
  ///
  /// - Throws: ``StoreError`` where the metadata cannot be written.
  func setUserMetadata(_ metadata: [String: String]) throws

  /// Runs saves and fetches as one transaction: all of them take effect, or none if the body throws. A store that cannot do so refuses.
  ///
  /// A request that is made inside the body belongs to the transaction. Requests of other threads, and of tasks that the body begins, see nothing of the
  /// transaction until it ends, and their saves wait. A transaction inside another is a part of that one, and can fail alone.
  ///
  /// - Throws: What the body throws; ``StoreError``, with ``StoreError/Code/invalidRequest`` from a store without transactions.
  func performTransaction(_ body: () throws -> Void) throws

  /// Whether saved rows may refer to large values outside them (``RowImage/external(_:)``), which the store then keeps its own way. Otherwise, and by
  /// default, the coordinator puts all bytes into the rows.
  var takesExternalData: Bool { get }

  /// Makes what collects a value that comes in pieces; by default it collects in memory.
  ///
  /// - Throws: ``StoreError`` where nothing can be collected.
  func makeExternalDataWriter() throws -> ExternalDataWriter

  /// Begins to tell of what others commit to the storage: other processes, and other coordinators of this one. Called once, after the store was opened,
  /// where ``PersistentStoreDescription/postsRemoteChangeNotifications`` is set; ``close()`` ends it. A store that nobody else can write has nothing to tell.
  ///
  /// - Parameter observer: Called after commits of others, once for any number of them, and for none of the store's own; who reads from then on sees them.
  ///   Call it from a thread that nobody waits for, and holding no lock.
  /// - Throws: ``StoreError`` where nothing can be heard: by default with ``StoreError/Code/unsupported``.
  func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws

  /// Closes the storage. Requests that follow fail, with ``StoreError/Code/noOpenStore``.
  ///
  /// - Throws: ``StoreError`` where something could not be put in order; the storage is closed.
  func close() throws
}

extension IncrementalStore {
  /// The default is false; ``DerivationEvaluation`` helps a store whose rows are at hand.
  public static var derivesAttributes: Bool { false }

  /// None.
  public static var settings: [StoreSetting] { [] }

  /// The default is false.
  public static var hasQueryGenerations: Bool { false }

  /// The default refuses, since it knows nothing of the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported``.
  public func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration {
    throw StoreError(.noQueryGenerations(type: nil), operation: .pin)
  }

  /// Does nothing.
  ///
  /// - Throws: Nothing; another implementation may.
  public func unlock() async throws {}

  /// The default refuses, since it knows nothing of the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/modelIncompatible``.
  public func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata {
    throw StoreError(.cannotBeMigrated, operation: .migrate)
  }

  /// The default is nil: the store does not keep its model.
  ///
  /// - Throws: Nothing; another implementation may.
  public func storedModel() throws -> CompiledModel? { nil }

  /// The default is true: ``migrate(_:)`` says what it cannot do.
  ///
  /// - Throws: Nothing; another implementation may.
  public func beginsMigration(_ request: StoreMigrationRequest) throws -> Bool { true }

  /// Does nothing.
  ///
  /// - Throws: Nothing; another implementation may.
  public func finishDeferredMigrationTask() throws -> StoreMetadata? { nil }

  /// The default says that the store goes through all objects of the entity in memory.
  ///
  /// - Throws: Nothing; another implementation may.
  public func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart {
    let name = specification.entityName
    guard specification.predicate != nil else { return FetchExplanation.StorePart(method: .memory) }
    let warning = FetchExplanation.Warning(
      .memory, entityName: name, message: "every object of \(name) is compared in memory: the store has no query language")
    return FetchExplanation.StorePart(method: .memory, warnings: [warning])
  }

  /// The default takes a number as the key and keeps a text in a table of the process.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - referenceObject: The key of the object in the storage.
  ///   - scope: What the request belongs to.
  public func newObjectID(for entity: CompiledEntity, referenceObject: ReferenceObject, in scope: RequestScope) -> ManagedObjectID {
    let key =
      switch referenceObject {
      case .integer(let key): key
      case .string(let text): scope.objectIDSpace.key(forReference: text, entityNumber: entity.number)
      }
    return ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: UInt32(entity.number), key: key)
  }

  /// The default gives the text kept for the key, or else the key itself.
  public func referenceObject(for objectID: ManagedObjectID, in scope: RequestScope) -> ReferenceObject {
    scope.objectIDSpace.internedReference(forKey: objectID.key).map(ReferenceObject.string) ?? .integer(objectID.key)
  }

  /// False.
  public var wantsRegistrationNotices: Bool { false }
  /// Does nothing.
  public func managedObjectContextDidRegisterObjects(with objectIDs: [ManagedObjectID]) {}
  /// Does nothing.
  public func managedObjectContextDidUnregisterObjects(with objectIDs: [ManagedObjectID]) {}

  /// The default refuses, since it knows nothing of the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest``.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    throw StoreError(.misuse(.noMetadataOfApplication), operation: .setMetadata)
  }

  /// The default refuses, since it knows nothing of the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest``.
  public func performTransaction(_ body: () throws -> Void) throws {
    throw StoreError(.misuse(.noTransactions), operation: .transaction)
  }

  /// False.
  public var takesExternalData: Bool { false }

  /// The default collects in memory.
  ///
  /// - Throws: Nothing; another implementation may.
  public func makeExternalDataWriter() throws -> ExternalDataWriter { ExternalDataWriter() }

  /// The default refuses, since it knows nothing of the storage.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported``.
  public func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws {
    throw StoreError(.hearsNothing, operation: .watch)
  }

  /// Does nothing.
  ///
  /// - Throws: Nothing; another implementation may.
  public func close() throws {}
}
