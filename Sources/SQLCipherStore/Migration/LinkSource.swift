import ObjectModel

/// The links of an older relationship as the source of a query, seen from one of its sides.
struct LinkSource {
  let relationship: CompiledRelationship
  let links: LinkColumns
  let nearNumbering: OlderNumbering
  let farNumbering: OlderNumbering
  let nearEntity: CompiledEntity
  let farEntity: CompiledEntity
  /// The condition that a row contains a link, or `nil` if all rows do.
  let linkCondition: String?
  /// The position of the join table in the older layout.
  let joinTable: Int?
  /// Whether the near objects are in the join table's second column.
  let isReversed: Bool

  /// The same links seen from the other side.
  var reversed: LinkSource { reversed(as: relationship) }

  private func reversed(as relationship: CompiledRelationship) -> LinkSource {
    LinkSource(
      relationship: relationship, links: links.reversed, nearNumbering: farNumbering, farNumbering: nearNumbering, nearEntity: farEntity,
      farEntity: nearEntity, linkCondition: linkCondition, joinTable: joinTable, isReversed: !isReversed)
  }

  /// Creates the feed of an older relationship, or returns `nil` if nothing is stored.
  ///
  /// - Parameter alias: The prefix of column names, or `nil` for the quoted table name, which an UPDATE needs.
  init?(_ relationship: CompiledRelationship, in schema: StoreSchema, alias: String? = "f") {
    let model = schema.model
    switch schema.relationships[relationship.id] {
    case .none: return nil
    case .column(let index, let column):
      let table = schema.tables[index]
      var order: String?
      if let inverse = model.inverse(of: relationship), case .inverse(let side) = schema.relationships[inverse.id] { order = side.order }
      links = LinkColumns(column, in: table, order: order, alias: alias)
      self.relationship = relationship
      nearNumbering = links.nearEntity.map { .stored($0) } ?? .fixed(table.root.number)
      if let entity = links.farEntity {
        farNumbering = .stored(entity)
      } else if case .fixed(let number) = column.destination {
        farNumbering = .fixed(number)
      } else {
        return nil
      }
      nearEntity = model.entities[relationship.sourceEntity]
      farEntity = model.entities[relationship.destinationEntity]
      // Without a foreign key, the column can refer to a deleted object.
      var condition = "\(links.far) IS NOT NULL"
      if SchemaGenerator.parent(of: column.slot, in: schema) == nil, let target = schema.tableIfStored(relationship.destinationEntity) {
        condition += " AND \(target.exists(links.far))"
      }
      linkCondition = condition
      joinTable = nil
      isReversed = false
    case .inverse:
      guard let inverse = model.inverse(of: relationship), let linkSource = LinkSource(inverse, in: schema, alias: alias) else {
        return nil
      }
      self = linkSource.reversed(as: relationship)
    case .join(let side):
      links = LinkColumns(side, alias: alias)
      self.relationship = relationship
      nearNumbering = links.nearEntity.map { .stored($0) } ?? .fixed(side.nearEntityNumber)
      farNumbering = links.farEntity.map { .stored($0) } ?? .fixed(side.farEntityNumber)
      nearEntity = model.entities[side.nearEntityNumber]
      farEntity = model.entities[side.farEntityNumber]
      linkCondition = nil
      joinTable = side.tableIndex
      isReversed = side.isReversed
    }
  }

  private init(
    relationship: CompiledRelationship, links: LinkColumns, nearNumbering: OlderNumbering, farNumbering: OlderNumbering,
    nearEntity: CompiledEntity, farEntity: CompiledEntity, linkCondition: String?, joinTable: Int?, isReversed: Bool
  ) {
    self.relationship = relationship
    self.links = links
    self.nearNumbering = nearNumbering
    self.farNumbering = farNumbering
    self.nearEntity = nearEntity
    self.farEntity = farEntity
    self.linkCondition = linkCondition
    self.joinTable = joinTable
    self.isReversed = isReversed
  }

  /// Returns the newer entity numbers of the near and the far objects for a newer relationship.
  func numbers(_ map: MigrationMap, as newer: CompiledRelationship) -> (near: NumberMap, far: NumberMap) {
    let entities = map.destination.entities
    return (
      map.numbers(nearNumbering, of: nearEntity, within: entities[newer.sourceEntity]),
      map.numbers(farNumbering, of: farEntity, within: entities[newer.destinationEntity])
    )
  }

  /// Returns the condition that a row contains a link that a newer relationship takes over, or `nil` if all rows do.
  func condition(_ map: MigrationMap, as newer: CompiledRelationship) -> String? {
    let (near, far) = numbers(map, as: newer)
    let parts = [linkCondition, near.isLive, far.isLive].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }
}

extension MigrationMap {
  /// Returns a step for each source relationship whose links no destination relationship takes over while its objects remain. The links are removed with
  /// their column or table; the step counts them.
  func removedLinkSteps() -> [MigrationStep] {
    let kept = Set(destination.relationships.flatMap { olderRelationships(of: $0) }.map(links))
    return source.model.relationships.compactMap { older in
      guard !kept.contains(older.id), links(of: older) == older.id, let linkSource = LinkSource(older, in: source),
        linkSource.nearEntity.subtree.contains(where: { newer(source.model.entities[$0]) != nil })
      else { return nil }
      return MigrationStep(
        summary: "remove the links of \(source.model.entities[older.sourceEntity].name).\(older.name)", work: .schema([]),
        countSQL: linkSource.links.count(where: linkSource.linkCondition))
    }
  }

  /// Returns an ID for the links that an older relationship shares with its inverse.
  private func links(of older: CompiledRelationship) -> Int { min(older.id, older.inverseID ?? older.id) }

  /// Returns the older links that a newer relationship takes over, seen from its source: its own, and those of its inverse if they are
  /// different.
  ///
  /// - Returns: The feeds, and whether each comes from the relationship itself, whose links a column can already contain.
  func linkSources(of newer: CompiledRelationship) -> [(linkSource: LinkSource, isOwn: Bool)] {
    var result: [(linkSource: LinkSource, isOwn: Bool)] = []
    let own = olderRelationships(of: newer)
    var covered = Set(own.map(links))
    for older in own { if let linkSource = LinkSource(older, in: source) { result.append((linkSource, true)) } }
    if let inverse = destination.inverse(of: newer), inverse.id != newer.id {
      for older in olderRelationships(of: inverse) where covered.insert(links(of: older)).inserted {
        if let linkSource = LinkSource(older, in: source) { result.append((linkSource.reversed, false)) }
      }
    } else if newer.inverseID == newer.id {
      // Each link is stored in both directions.
      for older in own where older.inverseID != older.id {
        if let linkSource = LinkSource(older, in: source) { result.append((linkSource.reversed, false)) }
      }
    }
    return result.filter { item in
      let (near, far) = item.linkSource.numbers(self, as: newer)
      return !near.isEmpty && !far.isEmpty
    }
  }
}
