// CodeGenerationOptions: what the source of typed classes is to look like.

/// What the source of typed classes is to look like.
public struct CodeGenerationOptions: Sendable, Hashable {
  /// Who sees the classes.
  public enum Access: String, Sendable, Hashable, CaseIterable {
    /// Everybody; other modules may inherit from the classes.
    case open
    /// Everybody.
    case `public`
    /// The package.
    case package
    /// The module.
    case `internal`
  }
  /// Who sees the classes.
  public var access: Access
  /// The module that the source is for: a class name `Module.Class` with it is one of the source's own.
  public var moduleName: String?
  /// Modules to import beside `CipherData` and `Foundation`, for the types of transformable attributes.
  public var imports: [String]
  /// Whether of each class `Book` only its superclass `_Book` is written, with all properties: the application declares `class Book: _Book` and overrides there what
  /// it likes.
  public var isSplit: Bool

  /// Makes options.
  ///
  /// - Parameters:
  ///   - access: Who may use the classes.
  ///   - moduleName: The module that the classes belong to; nil where the model's class names say it.
  ///   - imports: Modules to import, for the types of transformable attributes.
  ///   - isSplit: Whether the application declares the classes, as subclasses of those that are written.
  public init(access: Access = .public, moduleName: String? = nil, imports: [String] = [], isSplit: Bool = false) {
    self.isSplit = isSplit
    self.access = access
    self.moduleName = moduleName
    self.imports = imports
  }

  /// The modifier of a class, with a space behind it; empty for `internal`.
  var classModifier: String { access == .internal ? "" : access.rawValue + " " }
  /// The modifier of anything else: `open` is for classes only.
  var modifier: String { access == .open ? "public " : classModifier }
}

/// A file of generated source.
public struct GeneratedFile: Sendable, Hashable {
  /// The file's name.
  public let name: String
  /// Its text.
  public let contents: String
}

/// Why no classes can be generated for a model.
public enum CodeGenerationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Two entities whose class is to be generated share one.
  case sharedClass(className: String, entities: [String])
  /// A class is to be generated under a name that is no Swift identifier.
  case badClassName(entity: String, className: String)
  /// The Swift type of an attribute is not written as one.
  case badValueType(entity: String, attribute: String)
  /// The case that stands for unknown raw values of an attribute is no Swift identifier.
  case badUnknownCase(entity: String, attribute: String)
  /// An attribute is said to have a rule in Swift, but cannot have one.
  case badRule(entity: String, attribute: String)
  /// The name of an entity's snapshots is no Swift identifier, or that of a class or a type that the entity's properties have.
  case badSnapshotName(entity: String, name: String)
  /// Two models of one file have the same name.
  case sharedName(String)
  /// The module to import is not written as one.
  case badImport(String)

  /// The entity that the error is about, the first of several; nil for errors of the whole source.
  package var entityName: String? {
    switch self {
    case .sharedClass(_, let entities): entities.first
    case .badClassName(let entity, _), .badSnapshotName(let entity, _): entity
    case .badValueType(let entity, _), .badUnknownCase(let entity, _), .badRule(let entity, _): entity
    case .sharedName, .badImport: nil
    }
  }

  /// The attribute that the error is about.
  package var attributeName: String? {
    switch self {
    case .badValueType(_, let attribute), .badUnknownCase(_, let attribute), .badRule(_, let attribute): attribute
    case .sharedClass, .badClassName, .badSnapshotName, .sharedName, .badImport: nil
    }
  }

  /// What is wrong and what to do.
  @_optimize(none) public var description: String {
    switch self {
    case .sharedClass(let name, let entities):
      "the entities \(entities.joined(separator: " and ")) share the class '\(name)'; generate it for one of them only"
    case .badClassName(let entity, let name):
      "\(entity): '\(name)' cannot be the name of a generated class, because Swift or the generated source uses it or it is not an identifier; give the entity another class in the model (representedClassName)"
    case .badValueType(let entity, let attribute): "\(entity).\(attribute): the value class is no Swift type; write it as in source"
    case .badUnknownCase(let entity, let attribute):
      "\(entity).\(attribute): the case for unknown raw values is no Swift identifier; name it without a dot"
    case .badRule(let entity, let attribute):
      "\(entity).\(attribute): the note swiftValidation must be YES or NO, and only attributes that have a type, are no composites and are not derived can have it"
    case .badSnapshotName(let entity, let name):
      "\(entity): '\(name)' cannot be the name of its snapshots; write another one in the note swiftSnapshot, or NO for none"
    case .sharedName(let name): "two models would be called '\(name)'; give one of them another \"name\""
    case .badImport(let name): "'\(name)' is no name of a module"
    }
  }
}
