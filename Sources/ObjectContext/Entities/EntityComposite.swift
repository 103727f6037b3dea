public import ObjectModel
public import ObjectQuery

/// A struct that declares a composite type in Swift. The macro `@Composite`, from the package trait `Macros`, adds this conformance.
///
/// Attributes of classes with `@Entity` store its values: `@Attribute(.composite) var home: Address?`. A model of such classes includes the
/// composite type.
public protocol EntityComposite: CompositeValue, FetchCompositeNaming {
  /// The name of the composite type.
  static var declaredCompositeName: String { get }
  /// The composite type with its parts.
  static var compositeDescription: CompositeDescription { get }
  /// The structs of the parts that are composites themselves.
  static var relatedComposites: [any EntityComposite.Type] { get }
  /// Adds the parts to a table.
  static func addKeyPaths(to names: inout KeyPathNames)
}

extension EntityComposite {
  /// The class table of the last model that was created with the struct. Before that, a table without classes.
  public static var classTable: ManagedObjectClasses { EntityTables.table(of: self) }

  /// Returns the model keys of a key path, for typed queries.
  public static func fetchKeys(of keyPath: AnyKeyPath) -> [String]? { classTable.keys(of: keyPath) }
}

/// An option of `@Composite`.
public struct CompositeOption: Sendable {
  let change: @Sendable (inout CompositeDescription) -> Void

  /// Adds an entry to the user info.
  public static func userInfo(_ key: String, _ value: String) -> CompositeOption { CompositeOption { $0.userInfo[key] = value } }
}

extension EntityDeclaration {
  /// Starts the declaration of a composite type, to which parts are added as attributes.
  public init(composite name: String) { self.init(name, class: "") }

  /// Returns the composite type as declared so far, with options.
  public func compositeDescription(_ options: CompositeOption...) -> CompositeDescription {
    var description = CompositeDescription(name: entityDescription.name, elements: entityDescription.attributes)
    for option in options { option.change(&description) }
    return description
  }
}
