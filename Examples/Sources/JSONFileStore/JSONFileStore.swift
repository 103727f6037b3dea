import Foundation
public import CipherDataEngine
import Synchronization

extension StoreType {
  /// The type that ``JSONFileStore`` is registered under.
  public static let jsonFile = StoreType(rawValue: "JSONFile")
}

extension StoreSettingKey<Bool> {
  /// Whether a ``JSONFileStore`` writes its file with line breaks and indentation; true by default.
  public static var isIndented: Self { Self("isIndented") }
}

/// A store with its rows in one unencrypted JSON file, which every save rewrites.
///
/// It demonstrates a store class that uses only the public contract. Register it before setting up the stack:
///
/// ```swift
/// PersistentStoreCoordinator.registerStoreClass(JSONFileStore.self, forStoreType: .jsonFile)
/// ```
public final class JSONFileStore: IncrementalStore {
  /// True: all rows are in memory, and ``DerivationEvaluation`` computes derived attributes from them.
  public static var derivesAttributes: Bool { true }

  /// The settings that a description can contain.
  public static var settings: [StoreSetting] { [StoreSetting(.isIndented)] }

  private struct Content {
    var document: JSONDocument
    var graph: JSONGraph
  }

  private let configuration: StoreConfiguration
  private let url: URL
  /// Nil while the store is closed.
  private let content = Mutex<Content?>(nil)
  /// Locked during every request, and during a whole transaction.
  private let turn = NSRecursiveLock()
  /// The nesting depth of transactions. Saves are not written to the file while it is positive. Guarded by `turn`.
  private let openTransactions = Mutex(0)

  /// Creates a closed store.
  ///
  /// - Throws: ``StoreError`` if the description has no URL.
  public init(configuration: StoreConfiguration) throws {
    guard let url = configuration.description.url else {
      throw StoreError(.invalidRequest, "A JSON file store needs a URL.", operation: .open)
    }
    self.configuration = configuration
    self.url = url
  }

  /// Reads the file, or writes a new one.
  public func loadMetadata() throws -> StoreMetadata {
    try turn.withLock {
      let model = configuration.model
      var document: JSONDocument
      if FileManager.default.fileExists(atPath: url.path) {
        document = try read()
      } else {
        guard configuration.description.createsStore else {
          throw StoreError(.storeNotFound, "There is no store.", operation: .open, path: url.path)
        }
        let held = Set(configuration.entityNumbers.map { model.entities[$0].name })
        document = JSONDocument(
          storeIdentifier: UUID().uuidString, modelHashes: model.versionHashes.filter { held.contains($0.key) },
          versionIdentifiers: model.model.versionIdentifiers.sorted())
        try write(document)
      }
      var metadata = StoreMetadata(
        storeIdentifier: document.storeIdentifier, storeType: StoreType.jsonFile.rawValue, modelHashes: document.modelHashes)
      metadata.versionIdentifiers = Set(document.versionIdentifiers)
      metadata.userMetadata = document.userMetadata
      // The objects of another model cannot be read. The coordinator detects it by the hashes, and closes the store.
      let fits = document.modelHashes.allSatisfy { model.versionHashes[$0.key] == $0.value }
      let graph = fits ? try JSONGraph(document, model: model) : JSONGraph(model: model)
      content.withLock { $0 = Content(document: document, graph: graph) }
      return metadata
    }
  }

  /// Executes a request. A batch request is converted to the equivalent save.
  public func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    try turn.withLock {
      var current = try open()
      switch request {
      case .fetch(let specification):
        let evaluation = try FetchEvaluation(specification, model: current.graph.model)
        let reader = JSONGraphReader(current.graph, space: scope.objectIDSpace)
        return try evaluation.answer(among: current.graph.objects(of: evaluation.entity), resolver: reader, row: current.graph.row(of:))
      case .save(let request):
        try checkWritable(.save)
        return .saved(try apply(request, to: &current, in: scope))
      case .batchInsert, .batchUpdate, .batchDelete:
        try checkWritable(.batchRequest)
        let reader = JSONGraphReader(current.graph, space: scope.objectIDSpace)
        let evaluation = BatchEvaluation(request, model: current.graph.model, objectIDSpace: scope.objectIDSpace)
        let save = try evaluation.save(among: current.graph.objects(of:), resolver: reader, row: current.graph.row(of:))
        var changes = BatchChanges(save)
        changes.add(try apply(save, to: &current, in: scope))
        return .batch(changes)
      }
    }
  }

  private func checkWritable(_ operation: StoreOperation) throws {
    if configuration.description.isReadOnly {
      throw StoreError(.readOnly, "The store was opened read-only.", operation: operation, path: url.path)
    }
  }

  private func apply(_ save: SaveChangesRequest, to current: inout Content, in scope: RequestScope) throws -> SaveOutcome {
    let outcome = try current.graph.apply(save, entityNumbers: Set(configuration.entityNumbers), space: scope.objectIDSpace)
    try keep(current)
    return outcome
  }

  /// Returns the rows of objects.
  public func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    let graph = try turn.withLock { try open().graph }
    let writer = RowWriter(rowCapacity: objectIDs.count)
    for objectID in objectIDs { graph.write(objectID.reference, to: writer) }
    return writer.finish()
  }

  /// Returns the members of a relationship for several objects.
  public func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    let members = try turn.withLock { try open().graph.members(of: relationship) }
    var values = RelationshipValues()
    for objectID in objectIDs { values.append(members[objectID.reference] ?? []) }
    return values
  }

  /// Returns the next keys of the entity hierarchies. The next save writes them to the file.
  public func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    try turn.withLock {
      _ = try open()
      let entities = configuration.model.entities
      return content.withLock { content in
        objectIDs.map { objectID in
          let entity = entities[Int(objectID.entityNumber)]
          let root = entities[entity.root].name
          let key = content?.document.nextKeys[root] ?? 1
          content?.document.nextKeys[root] = key + 1
          return newObjectID(for: entity, referenceObject: .integer(key), in: scope)
        }
      }
    }
  }

  /// Changes the application's metadata in the file.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    try turn.withLock {
      var current = try open()
      current.document.userMetadata = metadata
      try keep(current)
    }
  }

  /// Runs saves and fetches as one transaction, which blocks other threads. The file is written once, at the end.
  public func performTransaction(_ body: () throws -> Void) throws {
    try turn.withLock {
      let before = try open()
      openTransactions.withLock { $0 += 1 }
      do {
        try body()
      } catch {
        openTransactions.withLock { $0 -= 1 }
        var restored = before
        // Keys that were assigned stay used.
        restored.document.nextKeys = try open().document.nextKeys
        content.withLock { $0 = restored }
        throw error
      }
      openTransactions.withLock { $0 -= 1 }
      do {
        try keep(try open())
      } catch {
        content.withLock { $0 = before }
        throw error
      }
    }
  }

  /// Releases the objects. The file remains.
  public func close() throws {
    turn.withLock { content.withLock { $0 = nil } }
  }

  // MARK: The file

  private func open() throws -> Content {
    guard let current = content.withLock({ $0 }) else {
      throw StoreError(.invalidRequest, "The store is closed.", path: url.path)
    }
    return current
  }

  /// Writes the file, except during a transaction, and makes `next` the current content.
  private func keep(_ next: Content) throws {
    var next = next
    if openTransactions.withLock({ $0 }) == 0 {
      next.graph.write(to: &next.document)
      try write(next.document)
    }
    content.withLock { $0 = next }
  }

  private func read() throws -> JSONDocument {
    do {
      return try JSONDecoder().decode(JSONDocument.self, from: Data(contentsOf: url))
    } catch {
      throw StoreError(.notAStore, "The file is not a JSON file store.", operation: .open, path: url.path, underlying: error)
    }
  }

  private func write(_ document: JSONDocument) throws {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = configuration.description[.isIndented] ?? true ? [.prettyPrinted, .sortedKeys] : [.sortedKeys]
      try encoder.encode(document).write(to: url, options: .atomic)
    } catch {
      throw StoreError(.io, "The file could not be written.", operation: .save, path: url.path, underlying: error)
    }
  }
}
