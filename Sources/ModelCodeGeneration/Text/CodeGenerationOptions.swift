/// The options of the source of typed classes.
public struct CodeGenerationOptions: Sendable, Hashable {
  /// The access level of the classes.
  public enum Access: String, Sendable, Hashable, CaseIterable {
    /// All modules, which can also declare subclasses.
    case open
    /// All modules.
    case `public`
    /// The modules of the package.
    case package
    /// The module.
    case `internal`
  }
  /// The access level of the classes.
  public var access: Access
  /// The module of the source. Class names `Module.Class` with this module are generated.
  public var moduleName: String?
  /// Modules to import in addition to `CipherData` and `Foundation`, for the types of transformable attributes.
  public var imports: [String]
  /// Whether only a superclass `_Book`, with all properties, is generated for each class `Book`. The application declares
  /// `class Book: _Book` and can override members there.
  public var isSplit: Bool

  /// Creates options.
  ///
  /// - Parameters:
  ///   - access: The access level of the classes.
  ///   - moduleName: The module of the classes; `nil` if the class names in the model include it.
  ///   - imports: Modules to import, for the types of transformable attributes.
  ///   - isSplit: Whether the application declares the classes as subclasses of the generated ones.
  public init(access: Access = .public, moduleName: String? = nil, imports: [String] = [], isSplit: Bool = false) {
    self.isSplit = isSplit
    self.access = access
    self.moduleName = moduleName
    self.imports = imports
  }

  /// The access modifier of a class, followed by a space; empty for `internal`.
  var classModifier: String { access == .internal ? "" : access.rawValue + " " }
  /// The access modifier of other declarations: only classes can be `open`.
  var modifier: String { access == .open ? "public " : classModifier }
}

/// A file of generated source.
public struct GeneratedFile: Sendable, Hashable {
  /// The name of the file.
  public let name: String
  /// The contents of the file.
  public let contents: String
}

/// The reason why no classes can be generated for a model.
public enum CodeGenerationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Two entities share a class that is to be generated.
  case sharedClass(className: String, entities: [String])
  /// The name of a class to generate is not a Swift identifier.
  case badClassName(entity: String, className: String)
  /// The Swift type of an attribute is not valid.
  case badValueType(entity: String, attribute: String)
  /// The case for unknown raw values of an attribute is not a Swift identifier.
  case badUnknownCase(entity: String, attribute: String)
  /// An attribute specifies a validation function in Swift, but cannot have one.
  case badRule(entity: String, attribute: String)
  /// The name of an entity's snapshots is not a Swift identifier, or is that of a class or of a type that the entity's properties have.
  case badSnapshotName(entity: String, name: String)
  /// Two models in one file have the same name.
  case sharedName(String)
  /// The name of a module to import is not valid.
  case badImport(String)

  /// The name of the affected entity, the first one of several; `nil` for errors of the whole source.
  package var entityName: String? {
    switch self {
    case .sharedClass(_, let entities): entities.first
    case .badClassName(let entity, _), .badSnapshotName(let entity, _): entity
    case .badValueType(let entity, _), .badUnknownCase(let entity, _), .badRule(let entity, _): entity
    case .sharedName, .badImport: nil
    }
  }

  /// The name of the affected attribute.
  package var attributeName: String? {
    switch self {
    case .badValueType(_, let attribute), .badUnknownCase(_, let attribute), .badRule(_, let attribute): attribute
    case .sharedClass, .badClassName, .badSnapshotName, .sharedName, .badImport: nil
    }
  }

  /// A message with the error and how to fix it.
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
      "\(entity).\(attribute): the user info key swiftValidation must be YES or NO, and requires an attribute with a type that is neither a composite nor derived"
    case .badSnapshotName(let entity, let name):
      "\(entity): '\(name)' cannot be the name of its snapshots; write another one in the user info key swiftSnapshot, or NO to disable snapshots"
    case .sharedName(let name): "two models would be called '\(name)'; give one of them another \"name\""
    case .badImport(let name): "'\(name)' is not a module name"
    }
  }
}
