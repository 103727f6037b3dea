import Foundation
package import ObjectContext
package import ObjectModel
import ObjectQuery
import ObjectStore

/// The declared indexes that no query uses, among the model's fetch templates and additional predicates.
package struct IndexUse {
  /// An index of an entity.
  package struct Index: Hashable, Sendable {
    package var entityName: String
    package var name: String
  }

  /// A predicate on an entity, such as `Book: title BEGINSWITH "a"`.
  package struct Query: Sendable {
    var entityName: String
    var predicate: FetchPredicate

    /// Parses a predicate.
    ///
    /// - Throws: ``ToolError`` if the text is invalid.
    package init(_ text: String) throws {
      guard let colon = text.firstIndex(of: ":") else {
        throw ToolError(.usage, "--where takes the entity, a colon and the condition, such as: Book: title BEGINSWITH \"a\"")
      }
      entityName = text[..<colon].trimmingCharacters(in: .whitespaces)
      predicate = try OptionText.predicate(String(text[text.index(after: colon)...]), option: "--where")
    }
  }

  /// The indexes that at least one query uses.
  package private(set) var used: Set<Index> = []
  /// The number of queries that were examined.
  package private(set) var examinedCount = 0
  /// The names of the templates that could not be examined.
  package private(set) var unknownTemplates: [String] = []

  /// Determines the indexes that the queries use.
  package init(_ model: ManagedObjectModel, queries: [Query], in context: ManagedObjectContext) throws {
    for query in queries {
      _ = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: query.entityName)
      var request = FetchRequest<ManagedObjectID>(entityName: query.entityName)
      request.predicate = query.predicate
      note(try context.explain(request))
    }
    for template in model.fetchRequestTemplates {
      guard let explanation = Self.explanation(of: template, in: context) else {
        unknownTemplates.append(template.name)
        continue
      }
      note(explanation)
    }
  }

  private mutating func note(_ explanation: FetchExplanation) {
    examinedCount += 1
    for index in explanation.indexes { used.insert(Index(entityName: index.entityName, name: index.name)) }
  }

  /// Returns the declared indexes that no query uses.
  package func unused(_ model: ManagedObjectModel) -> [Index] {
    model.entities.flatMap { entity in entity.indexes.map { Index(entityName: entity.name, name: $0.name) } }.filter { !used.contains($0) }
  }

  /// The explanation of a template does not depend on the values of its variables: any values of the right types can be used.
  private static func explanation(of template: FetchRequestTemplate, in context: ManagedObjectContext) -> FetchExplanation? {
    let values: [any FetchConstantConvertible] = ["a", 1, 1.5, true, Date(timeIntervalSinceReferenceDate: 0), ["a"], [1], UUID(), Data()]
    let names = (try? template.predicateFormat.map { try FetchPredicate(format: $0) })??.variables ?? []
    for value in names.isEmpty ? ["a"] : values {
      let variables = Dictionary(uniqueKeysWithValues: names.map { ($0, value as (any FetchConstantConvertible)?) })
      guard let predicate = try? template.predicateFormat.map({ try FetchPredicate(format: $0).withSubstitutionVariables(variables) })
      else {
        continue
      }
      var request = FetchRequest<ManagedObjectID>(entityName: template.entityName)
      request.predicate = predicate
      if let explanation = try? context.explain(request) { return explanation }
    }
    return nil
  }
}
