// ManagedObjectContext+Prefetch: relationships read for many objects at once, one query a step.
import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Reads the objects that relationships of some objects lead to, a statement or two for each step of a path however many the objects are.
  ///
  /// ```swift
  /// try context.prefetch(["author", "tags"], for: books)
  /// for book in books { print(book.title, book.author?.name ?? "", book.tags.count) }   // reads nothing any more
  /// ```
  ///
  /// It is ``FetchSpecification/relationshipKeyPathsForPrefetching`` for objects that are at hand already. What is read stays at hand as after such a fetch: rows
  /// in the row cache, members in their owners, and the owners on the way until the next prefetching. Objects of other contexts are passed over.
  ///
  /// - Parameters:
  ///   - keyPaths: Relationships of the objects, such as `author`, or several in a row, such as `author.books`.
  ///   - objects: The objects. Their own rows are read where they are faults.
  /// - Throws: ``StoreError`` where a path is none of relationships, or the store cannot be read.
  public func prefetch(_ keyPaths: [String], for objects: some Sequence<ManagedObject>) throws {
    var byEntity: [(number: UInt32, objects: [ManagedObject])] = []
    // Objects of one entity come one after the other, nearly always.
    for object in objects where object.managedObjectContext === self {
      let number = object.currentID.entityNumber
      if byEntity.last?.number != number { byEntity.append((number, [])) }
      byEntity[byEntity.count - 1].objects.append(object)
    }
    var groups: [UInt32: [ManagedObject]] = [:]
    for (number, objects) in byEntity { groups[number, default: []] += objects }
    var companions: [ManagedObject] = []
    for (number, objects) in groups { companions += try prefetch(keyPaths, of: model.entities[Int(number)], for: objects) }
    _ = faultGroups.hold(companions)
    try notedErrors.tell()
  }

  /// Reads the objects at the ends of the request's relationship key paths.
  ///
  /// - Returns: Objects on the way that nobody else may hold, which know the members that were read for them.
  func prefetch(_ specification: FetchSpecification, for objects: [ManagedObject]) throws -> [ManagedObject] {
    try prefetch(specification.relationshipKeyPathsForPrefetching, of: try entity(of: specification), for: objects)
  }

  private func prefetch(_ keyPaths: [String], of entity: CompiledEntity, for objects: [ManagedObject]) throws -> [ManagedObject] {
    var held: [ManagedObject] = []
    for keyPath in keyPaths {
      var places = [(entity: entity, objects: objects)]
      for key in keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
        var next: [(entity: CompiledEntity, objects: [ManagedObject])] = []
        for place in places {
          for owner in owners(of: key, below: place.entity) {
            let isWhole = owner.number == place.entity.number
            let sources = isWhole ? place.objects : place.objects.filter { $0.compiledEntity.isKind(of: owner) }
            switch owner.property(named: key) {
            case .toOne(let relationship):
              next.append((model.entities[relationship.destinationEntity], try prefetchToOne(relationship, of: sources)))
            case .toMany(let relationship):
              // One path is the rule: nothing is copied.
              if held.isEmpty { held = sources } else { held.append(contentsOf: sources) }
              next.append((model.entities[relationship.destinationEntity], try prefetchToMany(relationship, of: sources)))
            default: throw notPrefetched(key, keyPath, place.entity)
            }
          }
        }
        guard !next.isEmpty else { throw notPrefetched(key, keyPath, places[0].entity) }
        places = next
      }
    }
    return held
  }

  /// The entities that a key of an entity's objects belongs to: the entity itself, or those below it that declare the property.
  private func owners(of key: String, below entity: CompiledEntity) -> [CompiledEntity] {
    if entity.property(named: key) != nil { return [entity] }
    return model.entities[entity.subtree].filter { candidate in
      guard candidate.property(named: key) != nil, let parent = candidate.parent else { return false }
      return model.entities[parent].property(named: key) == nil
    }
  }

  private func notPrefetched(_ key: String, _ keyPath: String, _ entity: CompiledEntity) -> StoreError {
    StoreError(.notPrefetchable(keyPath: keyPath, key: key, entity: entity.name), operation: .fetch)
  }

  private func prefetchToOne(_ relationship: CompiledRelationship, of sources: [ManagedObject]) throws -> [ManagedObject] {
    // One read for all that are faults, instead of one here and there.
    try readRows(of: sources)
    var destinations: [ManagedObject] = []
    for (_, sources) in bySpace(sources) {
      var seen = KeySet()
      for source in sources {
        let reference = source.referenceValue(relationship.index)
        guard !reference.isNull, seen.insert(reference.key) else { continue }
        let destination = destination(reference, of: source, slot: relationship.index, isHeld: false)
        if let destination { destinations.append(destination) }
      }
    }
    try readRows(of: destinations)
    return destinations
  }

  private func prefetchToMany(_ relationship: CompiledRelationship, of sources: [ManagedObject]) throws -> [ManagedObject] {
    let groups = bySpace(sources)
    for (_, sources) in groups {
      func isUnread(_ source: ManagedObject) -> Bool {
        !source.flags.contains(.isInserted) && !source.currentID.isTemporaryID
          && !source.stateUnretained(relationship)._withUnsafeGuaranteedRef(\.isLoaded)
      }
      // All of them, as a rule: then there is no other list.
      let areUnread = MemoryAhead.visitWhile(sources) { $0._withUnsafeGuaranteedRef(isUnread) }
      let unread = areUnread ? sources : sources.filter(isUnread)
      guard let first = unread.first else { continue }
      try readMembers(of: unread, relationship, from: try rowSource.openStore(of: first.currentID, .fetch))
    }
    var members: [ManagedObject] = []
    for (_, sources) in groups {
      // Of a member of many owners an object is asked for once.
      var seen = KeySet()
      MemoryAhead.visitWhile(sources) { held in
        // The array holds the object, which holds its state, and making a member calls nobody.
        held._withUnsafeGuaranteedRef { source in
          source.loadedStateUnretained(relationship.index)?._withUnsafeGuaranteedRef { state in
            for (offset, reference) in state.visibleMembers.enumerated() where seen.insert(reference.key) {
              if let member = member(reference, of: source, state: state, offset: offset, isHeld: false) { members.append(member) }
            }
          }
        }
        return true
      }
    }
    try readRows(of: members)
    return members
  }

  /// Objects store by store: keys tell the objects of one store apart.
  private func bySpace(_ objects: [ManagedObject]) -> [(space: UInt32, objects: [ManagedObject])] {
    guard let first = objects.first.map({ space(of: $0) }) else { return [] }
    // One store is the rule.
    if objects.allSatisfy({ space(of: $0) == first }) { return [(first, objects)] }
    return Dictionary(grouping: objects) { space(of: $0) }.map { ($0.key, $0.value) }
  }

  /// Reads the rows of faults that have none at hand.
  private func readRows(of objects: [ManagedObject]) throws {
    for (space, objects) in bySpace(objects.filter { $0.flags.contains(.isFault) && $0.row == nil && !$0.currentID.isTemporaryID }) {
      let store = try rowSource.openStore(of: objects[0].currentID, .fetch)
      var missing: [ManagedObjectID] = []
      for object in objects {
        if let row = rowSource.rowAtHand(object.currentID.reference, in: store) {
          object.image = row
        } else {
          missing.append(object.currentID)
        }
      }
      if missing.isEmpty { continue }
      for row in try rowSource.rows(of: missing, in: store) { registeredObject(row.reference, space: space)?.image = row }
    }
  }
}
