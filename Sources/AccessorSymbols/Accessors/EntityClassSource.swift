package import Foundation
package import ObjectModel

/// Generates the classes of a model's entities: the class and its properties for entities with the code generation “Class Definition”, only
/// the properties for “Category/Extension”.
///
/// The declarations match those that Xcode's model editor generates. They are scanned like any other source, with `@NSManaged`, but are
/// compiled with accessors: `@NSManaged` implies `dynamic`, which prevents optimization.
package struct EntityClassSource {
  private let model: ManagedObjectModel

  package init(_ model: ManagedObjectModel) { self.model = model }

  /// Reads a model file; in a bundle with several versions, the current one.
  ///
  /// - Throws: Errors of the model.
  package init(modelAt url: URL) throws {
    let current =
      url.pathExtension == "xcdatamodeld" ? try VersionedModel(contentsOf: url).current : try ManagedObjectModel(contentsOf: url)
    self.init(current ?? ManagedObjectModel())
  }

  /// Returns the errors of a model file in the form that build systems parse: `path:line:column: error: reason`. No classes are generated
  /// for a model with errors.
  package static func mistakes(ofModelAt url: URL) -> [String] {
    do {
      let issues = try ManagedObjectModel(contentsOf: url).validationIssues()
      if issues.isEmpty { return [] }
      let locations = try ModelFileLocations(ofModelAt: url)
      return issues.map { "\(locations.location(entity: $0.entityName, property: $0.propertyName)): error: \($0)" }
    } catch {
      let place = [error.path ?? url.path, error.line.map(String.init), error.column.map(String.init)].compactMap { $0 }
      return ["\(place.joined(separator: ":")): error: \(error.reason)"]
    }
  }

  /// Returns the warnings of a model file in the form that build systems parse: `path:line:column: warning: reason`.
  package static func warnings(ofModelAt url: URL) -> [String] {
    ((try? ModelFileLint.findings(inModelAt: url)) ?? []).map {
      "\($0.path ?? url.path):\($0.line):\($0.column): warning: \($0.reason)"
    }
  }

  /// The declarations as Xcode generates them; empty if nothing is generated.
  package var text: String { text(false) }

  /// The declarations to compile, whose properties have accessors.
  package var implementation: String { text(true) }

  private func text(_ isImplemented: Bool) -> String {
    model.entities.sorted { $0.name < $1.name }.filter { $0.codeGeneration != .manual }.map { declarations(of: $0, isImplemented) }.joined()
  }

  private func declarations(of entity: EntityDescription, _ isImplemented: Bool) -> String {
    let name = Self.quoted(className(of: entity.name))
    let properties =
      entity.attributes.map { ($0.name, Self.type(of: $0)) } + entity.relationships.map { ($0.name, type(of: $0)) }
    var lines: [String] = []
    if entity.codeGeneration == .classDefinition {
      lines += ["", "public class \(name): \(superclass(of: entity)) {}"]
      // Subclasses in the model inherit the conformance.
      if entity.superentityName == nil { lines += ["extension \(name): Identifiable {}"] }
    }
    lines.append("")
    if isImplemented { lines += properties.map { AccessorSource.declaration(ofKey: key($0.0, entity), $0.0) } }
    lines += [
      "extension \(name) {",
      "  @nonobjc public class func fetchRequest() -> NSFetchRequest<\(name)> { NSFetchRequest<\(name)>(entityName: \"\(entity.name)\") }",
    ]
    lines += properties.map { property, type in
      let declared = "public var \(Self.quoted(property)): \(type)"
      return isImplemented ? "  \(declared) \(AccessorSource.body(with: key(property, entity)))" : "  @NSManaged \(declared)"
    }
    lines += entity.relationships.filter(\.isToMany).flatMap(methods)
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  private func key(_ property: String, _ entity: EntityDescription) -> String { "`_key_\(className(of: entity.name))_\(property)`" }

  // MARK: Classes

  /// Returns the class name of an entity without its module.
  private func className(of entityName: String) -> String {
    guard let name = model.entity(named: entityName)?.managedObjectClassName, !name.isEmpty else { return "NSManagedObject" }
    return name.split(separator: ".").last.map(String.init) ?? name
  }

  private func superclass(of entity: EntityDescription) -> String {
    entity.superentityName.map { Self.quoted(className(of: $0)) } ?? "NSManagedObject"
  }

  // MARK: Properties

  private static func type(of attribute: AttributeDescription) -> String {
    let form = attribute.type.traits.coreData
    if let property = attribute.usesScalarValueType ? form.scalar ?? form.property : form.property { return property }
    return "\(attribute.valueClassName.map { $0.isEmpty ? "NSObject" : $0 } ?? "NSObject")?"
  }

  private func type(of relationship: RelationshipDescription) -> String {
    if relationship.isToMany { return relationship.isOrdered ? "NSOrderedSet?" : "NSSet?" }
    return "\(Self.quoted(className(of: relationship.destinationEntityName)))?"
  }

  private func methods(of relationship: RelationshipDescription) -> [String] {
    let destination = Self.quoted(className(of: relationship.destinationEntityName))
    let name = relationship.name.prefix(1).uppercased() + relationship.name.dropFirst()
    let set = relationship.isOrdered ? "NSOrderedSet" : "NSSet"
    var methods = ["addTo\(name)(_ value: \(destination))", "removeFrom\(name)(_ value: \(destination))"]
    methods += ["addTo\(name)(_ values: \(set))", "removeFrom\(name)(_ values: \(set))"]
    if relationship.isOrdered {
      methods += ["insertInto\(name)(_ value: \(destination), at idx: Int)", "removeFrom\(name)(at idx: Int)"]
      methods += ["insertInto\(name)(_ values: [\(destination)], at indexes: NSIndexSet)", "removeFrom\(name)(at indexes: NSIndexSet)"]
      methods += [
        "replace\(name)(at idx: Int, with value: \(destination))", "replace\(name)(at indexes: NSIndexSet, with values: [\(destination)])",
      ]
    }
    return methods.map { "  @NSManaged public func \($0)" }
  }

  /// Returns a name, in backticks if it is a keyword.
  private static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  private static let keywords: Set<String> = [
    "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else", "enum", "extension",
    "fallthrough", "false", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator",
    "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw",
    "throws", "true", "try", "typealias", "var", "where", "while",
  ]
}
