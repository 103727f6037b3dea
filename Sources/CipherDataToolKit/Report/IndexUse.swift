// IndexUse: which declared indexes are used by nothing that is asked: the model's fetch templates, and conditions that somebody names.
import Foundation
package import ObjectContext
package import ObjectModel
import ObjectQuery
import ObjectStore

/// The use of declared indexes.
package struct IndexUse {
  /// An index of an entity.
  package struct Index: Hashable, Sendable {
    package var entityName: String
    package var name: String
  }

  /// A condition on an entity: `Book: title BEGINSWITH "a"`.
  package struct Question: Sendable {
    var entityName: String
    var predicate: FetchPredicate

    /// - Throws: ``ToolError`` where it is none.
    package init(_ text: String) throws {
      guard let colon = text.firstIndex(of: ":") else {
        throw ToolError(.usage, "--where takes the entity, a colon and the condition, such as: Book: title BEGINSWITH \"a\"")
      }
      entityName = text[..<colon].trimmingCharacters(in: .whitespaces)
      predicate = try OptionText.predicate(String(text[text.index(after: colon)...]), option: "--where")
    }
  }

  /// Those that something uses.
  package private(set) var used: Set<Index> = []
  /// What was asked: the names of templates, and how many conditions.
  package private(set) var askedCount = 0
  /// The templates that could not be asked.
  package private(set) var unknownTemplates: [String] = []

  /// Finds out which indexes answer.
  package init(_ model: ManagedObjectModel, questions: [Question], in context: ManagedObjectContext) throws {
    for question in questions {
      _ = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: question.entityName)
      var request = FetchRequest<ManagedObjectID>(entityName: question.entityName)
      request.predicate = question.predicate
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
    askedCount += 1
    for index in explanation.indexes { used.insert(Index(entityName: index.entityName, name: index.name)) }
  }

  /// The declared indexes that nothing of it uses.
  package func unused(_ model: ManagedObjectModel) -> [Index] {
    model.entities.flatMap { entity in entity.indexes.map { Index(entityName: entity.name, name: $0.name) } }.filter { !used.contains($0) }
  }

  /// How a template is answered does not hang on the values of its variables: some of the type that it takes will do.
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
