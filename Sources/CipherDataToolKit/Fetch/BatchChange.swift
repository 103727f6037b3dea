import ArgumentParser
import Foundation
package import ObjectContext
import ObjectModel
package import ObjectQuery
import ObjectStore

/// Sets properties of many objects.
struct UpdateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Set properties of all objects that match a condition, and print their number.",
    discussion: """
      --set takes new values, constant or computed of each object as it was before, such as: summary = nil, name = uppercase(name), \
      installedSize = installedSize * 2. A to-one relationship takes nil or an object's URI, as the column @id of fetch shows it. \
      Either all objects are changed or none. The model's validation rules apply.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity to update, including its subentities.")
  var entity: String

  @Option(parsing: .unconditional, help: ArgumentHelp("The comma-separated assignments.", valueName: "values"))
  var set: String

  @OptionGroup
  var options: BatchOptions

  @OptionGroup
  var author: AuthorOptions

  func run() async throws {
    let early = try options.earlyChange(of: entity, set: set)
    let (options, entity, set, author) = (options, entity, set, author.author)
    try await store.open(isReadOnly: options.dryRun).run { context in
      context.transactionAuthor = author
      try (early ?? options.change(of: entity, set: set)).run(in: context, to: OutputSink())
    }
  }
}

/// Deletes many objects.
struct DeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete all objects that match a condition, and print their number.",
    discussion: """
      The model's delete rules apply: objects that a cascade rule reaches are deleted and counted too, and a deny rule stops the whole \
      deletion. --dry-run counts only the objects that match the condition.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity to delete from, including its subentities.")
  var entity: String

  @OptionGroup
  var options: BatchOptions

  @OptionGroup
  var author: AuthorOptions

  func run() async throws {
    let early = try options.earlyChange(of: entity, set: nil)
    let (options, entity, author) = (options, entity, author.author)
    try await store.open(isReadOnly: options.dryRun).run { context in
      context.transactionAuthor = author
      try (early ?? options.change(of: entity, set: nil)).run(in: context, to: OutputSink())
    }
  }
}

/// The options that the tool's and the shell's `update` and `delete` share.
struct BatchOptions: ParsableArguments {
  @Option(name: .customLong("where"), parsing: .unconditional, help: ArgumentHelp("The condition.", valueName: "predicate"))
  var condition: String?

  @Flag(help: "Include all objects of the entity, without a condition.")
  var all = false

  @Flag(help: "Print the number of matching objects without changing anything.")
  var dryRun = false

  func validate() throws {
    if all == (condition != nil) { throw ValidationError("Give a condition with --where, or --all for every object, and not both.") }
  }

  /// Returns the change of an entity's objects if it can be parsed before the store is open.
  func earlyChange(of entity: String, set assignments: String?) throws -> BatchChange? {
    try OptionText.early([condition, assignments]) { try change(of: entity, set: assignments) }
  }

  /// Returns the change of an entity's objects. Without assignments, the change deletes them.
  func change(of entity: String, set assignments: String?) throws -> BatchChange {
    BatchChange(
      entityName: entity, predicate: try condition.map { try OptionText.predicate($0, option: "--where") },
      assignments: try assignments.map { try OptionText.assignments($0) }, isDryRun: dryRun)
  }
}

/// New values for many objects, or their deletion.
package struct BatchChange: Sendable {
  package var entityName: String
  /// The condition on objects; `nil` for all objects.
  package var predicate: FetchPredicate?
  /// The new values; `nil` to delete the objects.
  package var assignments: [OptionText.Assignment]?
  /// Whether the objects are only counted.
  package var isDryRun = false

  /// Performs the change in the store, and writes the number of objects changed or deleted.
  package func run(in context: ManagedObjectContext, to sink: OutputSink) throws {
    try sink.line(String(try isDryRun ? dryRun(in: context) : changeRows(in: context)))
    try sink.flush()
  }

  /// Validates the change without performing it.
  ///
  /// - Returns: The number of objects that match the predicate.
  package func dryRun(in context: ManagedObjectContext) throws -> Int {
    let entity = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: entityName)
    // Validate the new values, too.
    _ = try updateRequest(of: entity, in: context)
    return try context.count(for: FetchRequest<ManagedObjectID>(entityName: entityName, predicate: predicate))
  }

  /// Performs the change in the store, without loading objects.
  ///
  /// - Returns: The number of objects changed, or of objects deleted including those that delete rules reach.
  package func changeRows(in context: ManagedObjectContext) throws -> Int {
    let entity = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: entityName)
    if var request = try updateRequest(of: entity, in: context) {
      if setsFollowedInverse(of: entity, in: context) {
        return try context.performTransaction {
          let count = try changeObjects(in: context)
          try context.save()
          return count
        }
      }
      request.resultType = .count
      return try context.execute(request).count
    }
    var request = BatchDeleteRequest(entityName: entityName, predicate: predicate)
    request.resultType = .count
    return try context.execute(request).count
  }

  /// Returns whether an assignment changes a relationship with a one-sided inverse, which a batch update does not set.
  private func setsFollowedInverse(of entity: CompiledEntity, in context: ManagedObjectContext) -> Bool {
    let model = context.persistentStoreCoordinator.compiledModel
    return (assignments ?? []).contains { assignment in
      guard case .toOne(let relationship)? = entity.property(named: assignment.key) else { return false }
      return model.followedInverse(of: relationship) != nil
    }
  }

  /// Returns the request that sets the new values; `nil` for a deletion.
  func updateRequest(of entity: CompiledEntity, in context: ManagedObjectContext) throws -> BatchUpdateRequest? {
    try properties(of: entity, in: context).map {
      BatchUpdateRequest(entityName: entityName, predicate: predicate, propertiesToUpdate: $0)
    }
  }

  private func properties(of entity: CompiledEntity, in context: ManagedObjectContext) throws -> [String: (any Sendable)?]? {
    try assignments.map { assignments in
      var properties: [String: (any Sendable)?] = [:]
      for assignment in assignments {
        switch entity.property(named: assignment.key) {
        case nil:
          throw ToolError(
            .usage,
            "--set: the entity \(entity.name) has no property “\(assignment.key)”; \(ToolError.advice(for: assignment.key, among: entity.propertyNames))"
          )
        case .toOne?: properties[assignment.key] = .some(try destination(assignment, in: context))
        default: properties[assignment.key] = .some(assignment.value)
        }
      }
      return properties
    }
  }

  /// Returns the destination of a to-one relationship, given as a URI in the form that `@id` prints.
  private func destination(_ assignment: OptionText.Assignment, in context: ManagedObjectContext) throws -> (any Sendable)? {
    switch assignment.value {
    case .constant(.null): return nil
    case .constant(.string(let text)):
      guard let url = URL(string: text), let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: url) else {
        throw ToolError(.usage, "--set: “\(assignment.key)” is a relationship; its value is an object's URI, as the column @id shows it.")
      }
      return id
    default: return assignment.value
    }
  }
}

// MARK: - Changes of objects in memory

extension BatchChange {
  /// Changes or deletes the objects that match the predicate, without saving. Unsaved changes are included.
  ///
  /// - Returns: The number of objects changed, or of objects deleted including those that delete rules reach.
  package func changeObjects(in context: ManagedObjectContext) throws -> Int {
    let entity = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: entityName)
    let request = try updateRequest(of: entity, in: context)
    let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate))
    if let request {
      try context.update(objects, by: request)
      return objects.count
    }
    let before = context.deletedObjects.count
    for object in objects { context.delete(object) }
    // Delete rules run when pending changes are processed.
    context.processPendingChanges()
    return context.deletedObjects.count - before
  }
}
