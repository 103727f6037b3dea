// EntityComposite: a struct that declares a kind of composite value itself: what the macro @Composite makes of a struct.
public import ObjectModel
public import ObjectQuery

/// A struct that declares a kind of composite value in Swift: what `@Composite` of the package trait `Macros` makes of a struct.
///
/// Attributes of classes with `@Entity` hold its values: `@Attribute(.composite) var home: Address?`. The model of such classes has the kind.
public protocol EntityComposite: CompositeValue, FetchCompositeNaming {
  /// The name of the kind.
  static var _declaredCompositeName: String { get }
  /// The kind with its parts.
  static var compositeDescription: CompositeDescription { get }
  /// The structs of the parts that are composites themselves.
  static var _relatedComposites: [any EntityComposite.Type] { get }
  /// Adds the parts to a table.
  static func _addKeyPaths(to names: inout _KeyPathNames)
}

extension EntityComposite {
  /// The classes of the last model made with the struct; before any was made, none.
  public static var _classTable: ManagedObjectClasses { EntityTables.table(of: self) }

  /// The keys of a key path, for typed queries.
  public static func _fetchKeys(of keyPath: AnyKeyPath) -> [String]? { _classTable.keys(of: keyPath) }
}

/// What `@Composite` says of a kind of composite value beyond its name and parts.
public struct CompositeOption: Sendable {
  let change: @Sendable (inout CompositeDescription) -> Void

  /// A note of the application.
  public static func note(_ key: String, _ value: String) -> CompositeOption { CompositeOption { $0.userInfo[key] = value } }
}

extension _EntityDeclaration {
  /// Begins a kind of composite value, whose parts are added as attributes are.
  public init(composite name: String) { self.init(name, class: "") }

  /// The kind as far as it is declared.
  public func compositeDescription(_ options: CompositeOption...) -> CompositeDescription {
    var description = CompositeDescription(name: entityDescription.name, elements: entityDescription.attributes)
    for option in options { option.change(&description) }
    return description
  }
}
