import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Reads the destination objects of relationships, with one or two statements for each step of a key path, regardless of the number of
  /// objects.
  ///
  /// ```swift
  /// try context.prefetch(["author", "tags"], for: books)
  /// for book in books { print(book.title, book.author?.name ?? "", book.tags.count) }   // no further reads
  /// ```
  ///
  /// This is ``FetchSpecification/relationshipKeyPathsForPrefetching`` for objects that are already loaded. As after such a fetch, rows
  /// stay in the row cache, and members stay with their owners. The context retains intermediate owners until the next prefetch. Objects of
  /// other contexts are ignored.
  ///
  /// - Parameters:
  ///   - keyPaths: Relationships of the objects, such as `author`, or paths of relationships, such as `author.books`.
  ///   - objects: The objects. If they are faults, their own rows are read as needed.
  /// - Throws: ``StoreError`` if a key path contains anything but relationships, or if the store cannot be read.
  public func prefetch(_ keyPaths: [String], for objects: some Sequence<ManagedObject>) throws {
    var byEntity: [(number: UInt32, objects: [ManagedObject])] = []
    // Objects of the same entity are almost always adjacent.
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
    try deferredErrors.throwRecorded()
  }

  /// Reads the objects at the ends of the request's relationship key paths.
  ///
  /// - Returns: Intermediate objects that hold the prefetched members and may have no other owner.
  func prefetch(_ specification: FetchSpecification, for objects: [ManagedObject]) throws -> [ManagedObject] {
    try prefetch(specification.relationshipKeyPathsForPrefetching, of: try entity(of: specification), for: objects)
  }

  private func prefetch(_ keyPaths: [String], of entity: CompiledEntity, for objects: [ManagedObject]) throws -> [ManagedObject] {
    var held: [ManagedObject] = []
    for keyPath in keyPaths {
      var levels = [(entity: entity, objects: objects)]
      for key in keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
        var next: [(entity: CompiledEntity, objects: [ManagedObject])] = []
        for level in levels {
          for owner in owners(of: key, below: level.entity) {
            let isWhole = owner.number == level.entity.number
            let sources = isWhole ? level.objects : level.objects.filter { $0.compiledEntity.isKind(of: owner) }
            switch owner.property(named: key) {
            case .toOne(let relationship):
              next.append((model.entities[relationship.destinationEntity], try prefetchToOne(relationship, of: sources)))
            case .toMany(let relationship):
              // Usually there is one path: avoid a copy.
              if held.isEmpty { held = sources } else { held.append(contentsOf: sources) }
              next.append((model.entities[relationship.destinationEntity], try prefetchToMany(relationship, of: sources)))
            default: throw notPrefetched(key, keyPath, level.entity)
            }
          }
        }
        guard !next.isEmpty else { throw notPrefetched(key, keyPath, levels[0].entity) }
        levels = next
      }
    }
    return held
  }

  /// Returns the entities that declare a key: the entity itself, or subentities.
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
    // Read the rows of all faults at once, not one by one.
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
      // Usually no source has been read: avoid a filtered copy.
      let areUnread = MemoryPrefetch.visitWhile(sources) { $0._withUnsafeGuaranteedRef(isUnread) }
      let unread = areUnread ? sources : sources.filter(isUnread)
      guard let first = unread.first else { continue }
      try readMembers(of: unread, relationship, from: try rowSource.openStore(of: first.currentID, .fetch))
    }
    var members: [ManagedObject] = []
    for (_, sources) in groups {
      // Request a member once, even if it has many owners.
      var seen = KeySet()
      MemoryPrefetch.visitWhile(sources) { held in
        // The array retains the object, the object retains its state, and creating a member calls no other code.
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

  /// Groups objects by store, because a key is unique only within a store.
  private func bySpace(_ objects: [ManagedObject]) -> [(space: UInt32, objects: [ManagedObject])] {
    guard let first = objects.first.map({ space(of: $0) }) else { return [] }
    // Usually there is one store.
    if objects.allSatisfy({ space(of: $0) == first }) { return [(first, objects)] }
    return Dictionary(grouping: objects) { space(of: $0) }.map { ($0.key, $0.value) }
  }

  /// Reads the rows of faults that have no row in memory.
  private func readRows(of objects: [ManagedObject]) throws {
    for (space, objects) in bySpace(objects.filter { $0.flags.contains(.isFault) && $0.row == nil && !$0.currentID.isTemporaryID }) {
      let store = try rowSource.openStore(of: objects[0].currentID, .fetch)
      var missing: [ManagedObjectID] = []
      for object in objects {
        if let row = rowSource.cachedRow(object.currentID.reference, in: store) {
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

extension StoreError.Reason {
  static func notPrefetchable(keyPath path: String, key: String, entity: String) -> Self {
    Self(
      .invalidRequest, "“\(path)” cannot be prefetched: “\(key)” is not a relationship of the entity “\(entity)” or of a subentity.",
      entity: entity, property: key)
  }
}
