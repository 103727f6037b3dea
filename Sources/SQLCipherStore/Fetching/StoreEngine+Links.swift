package import ObjectModel
package import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// The side of a relationship's join table.
  private func side(of relationship: CompiledRelationship) -> JoinSide? {
    if case .join(let side) = schema.relationships[relationship.id] { side } else { nil }
  }

  func contains(_ links: [LinkChanges.Link], of relationship: CompiledRelationship) throws -> [Bool] {
    guard let side = side(of: relationship) else { return links.map { _ in false } }
    return try read { transaction in
      let statement = try statement(.presence(side: side.number), on: transaction.connection)
      defer { statement.reset() }
      return try links.map { link in
        statement.reset()
        try statement.bind(1, link.source.key)
        try statement.bind(2, link.destination.key)
        trace.record(statement)
        return try statement.step()
      }
    }
  }

  func links(of relationship: CompiledRelationship, after link: LinkChanges.Link?, maximumCount: Int) throws -> [LinkChanges.Link] {
    guard let side = side(of: relationship) else { return [] }
    return try read { transaction in
      let statement = try statement(.links(side: side.number), on: transaction.connection)
      defer { statement.reset() }
      try statement.bind(1, link?.source.key ?? 0)
      try statement.bind(2, link?.destination.key ?? 0)
      try statement.bind(3, maximumCount)
      trace.record(statement)
      var links: [LinkChanges.Link] = []
      while try statement.step() {
        links.append(
          LinkChanges.Link(
            source: try reference(statement, 0, side.nearNumbering), destination: try reference(statement, 2, side.farNumbering)))
      }
      return links
    }
  }
}

extension SQLCipherIncrementalStore: LinkStore {
  package func contains(_ links: [LinkChanges.Link], of relationship: CompiledRelationship) throws -> [Bool] {
    let engine = try engine(.read)
    return try StoreError.mapping { try engine.contains(links, of: relationship) }
  }

  package func links(
    of relationship: CompiledRelationship, after link: LinkChanges.Link?, maximumCount: Int
  ) throws -> [LinkChanges.Link] {
    let engine = try engine(.read)
    return try StoreError.mapping { try engine.links(of: relationship, after: link, maximumCount: maximumCount) }
  }
}
