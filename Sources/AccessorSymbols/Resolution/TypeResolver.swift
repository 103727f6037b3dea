/// Resolves the types in a declaration like the compiler: in the enclosing types and their superclasses, in the module, and in imported
/// modules.
struct TypeResolver {
  let index: TypeIndex
  let module: String
  let file: String
  /// The modules that the file imports.
  let imports: Set<String>

  private static let maximumDepth = 32

  /// Resolves a written type.
  func type(of syntax: TypeSyntax, in scope: MangledNominal?, depth: Int = 0) throws(ResolutionFailure) -> MangledType {
    if depth > Self.maximumDepth { throw ResolutionFailure(.unsupportedType(syntax.text)) }
    switch syntax {
    case .optional(let wrapped): return .optional(try type(of: wrapped, in: scope, depth: depth + 1))
    case .array(let element): return .generic(Self.standard("Array"), [try type(of: element, in: scope, depth: depth + 1)])
    case .dictionary(let key, let value):
      let arguments = [try type(of: key, in: scope, depth: depth + 1), try type(of: value, in: scope, depth: depth + 1)]
      return .generic(Self.standard("Dictionary"), arguments)
    case .tuple(let elements):
      if elements.isEmpty { return .nothing }
      throw ResolutionFailure(.unsupportedType(syntax.text))
    case .any(let constraint):
      let type = try type(of: constraint, in: scope, depth: depth + 1)
      switch type {
      case .existential, .anything, .anyObject: return type
      default: throw ResolutionFailure(.unsupportedType(syntax.text))
      }
    case .named(let path, let arguments): return try named(path, arguments, in: scope, depth)
    case .unsupported(let text): throw ResolutionFailure(.unsupportedType(text))
    }
  }

  private static func standard(_ name: String) -> MangledNominal { MangledNominal("Swift", name, .structure) }

  private func named(_ path: [String], _ arguments: [TypeSyntax], in scope: MangledNominal?, _ depth: Int) throws(ResolutionFailure)
    -> MangledType
  {
    let text = path.joined(separator: ".")
    if let found = try lookUp(path, in: scope, depth) { return try apply(arguments, to: found, text, in: scope, depth) }
    var names = path[...]
    if path.count == 2, let module = path.first, module == "Swift" || module.hasPrefix("Foundation") || module == "CoreData" {
      names = names.dropFirst()
    }
    guard names.count == 1, let name = names.first, let meaning = KnownTypes.meaning(of: name) else {
      throw ResolutionFailure(.unknownType(text))
    }
    switch meaning {
    case .type(let type):
      if arguments.isEmpty { return type }
      throw ResolutionFailure(.genericType(text))
    case .nominal(let nominal, let parameters):
      guard arguments.count == parameters else { throw ResolutionFailure(.genericType(text)) }
      return try Self.type(nominal, resolved(arguments, in: scope, depth))
    }
  }

  private func resolved(_ arguments: [TypeSyntax], in scope: MangledNominal?, _ depth: Int) throws(ResolutionFailure) -> [MangledType] {
    var types: [MangledType] = []
    for argument in arguments { types.append(try type(of: argument, in: scope, depth: depth + 1)) }
    return types
  }

  private static func type(_ nominal: MangledNominal, _ arguments: [MangledType]) throws(ResolutionFailure) -> MangledType {
    if nominal.module == "Swift", nominal.path == "Optional", let wrapped = arguments.first { return .optional(wrapped) }
    if !arguments.isEmpty { return .generic(nominal, arguments) }
    return nominal.components.last?.kind == .protocolType ? .existential(nominal) : .nominal(nominal)
  }

  private func apply(
    _ arguments: [TypeSyntax], to found: IndexedType, _ text: String, in scope: MangledNominal?, _ depth: Int
  ) throws(ResolutionFailure) -> MangledType {
    switch found.kind {
    case .alias(let syntax):
      guard arguments.isEmpty, !found.isGeneric else { throw ResolutionFailure(.genericType(text)) }
      let there = TypeResolver(index: index, module: found.module, file: found.file, imports: imports)
      return try there.type(of: syntax, in: found.nominal.parent, depth: depth + 1)
    case .nominal:
      guard found.isGeneric != arguments.isEmpty else { throw ResolutionFailure(.genericType(text)) }
      if found.isOfFile { throw ResolutionFailure(.privateType(text)) }
      return try Self.type(found.nominal, resolved(arguments, in: scope, depth))
    }
  }

  // MARK: Classes

  /// Returns whether a class inherits from `NSManagedObject` through scanned classes.
  func isManaged(_ type: IndexedType) -> Bool { managedClasses(above: type) != nil }

  /// Returns the classes between a class and `NSManagedObject`, nearest first; `nil` if the class does not inherit from it through scanned
  /// classes.
  func managedClasses(above type: IndexedType, depth: Int = 0) -> [MangledNominal]? {
    guard depth < Self.maximumDepth, case .named(let path, let arguments)? = type.inherited.first, arguments.isEmpty else { return nil }
    let there = TypeResolver(index: index, module: type.module, file: type.file, imports: imports)
    // A type that cannot be found is not an entity class. Its `@NSManaged` declarations have issues of their own.
    if let above = try? there.lookUp(path, in: type.nominal.parent, depth) {
      return managedClasses(above: above, depth: depth + 1).map { [above.nominal] + $0 }
    }
    return path.last == "NSManagedObject" && (path.count == 1 || path == ["CoreData", "NSManagedObject"]) ? [] : nil
  }

  // MARK: Names

  private func lookUp(_ path: [String], in scope: MangledNominal?, _ depth: Int) throws(ResolutionFailure) -> IndexedType? {
    let name = path.joined(separator: ".")
    var level = scope
    while let here = level {
      if let found = try member(path, of: here, depth) { return found }
      level = here.parent
    }
    if let found = try single(index.named(name, of: module, from: file, of: module), name) { return found }
    // A type after the first name can be inherited or reached through an alias.
    if path.count > 1, let outer = try lookUp([path[0]], in: scope, depth) { return try member(Array(path.dropFirst()), of: outer, depth) }
    if path.count > 1, index.modules.contains(path[0]) {
      let rest = path.dropFirst().joined(separator: ".")
      return try single(index.named(rest, of: path[0], from: file, of: module), name)
    }
    var found: [IndexedType] = []
    for other in index.modules.sorted() where other != module && imports.contains(other) {
      found += index.named(name, of: other, from: file, of: module)
    }
    // A type that the sources nest in a type of Swift or Foundation.
    if found.isEmpty, path.count > 1, case .nominal(let nominal, _) = KnownTypes.meaning(of: path[0]) {
      found = index.named(name, of: nominal.module, from: file, of: module)
    }
    if found.isEmpty {
      // A module can re-export its imports.
      for other in index.modules.sorted() where other != module { found += index.named(name, of: other, from: file, of: module) }
      // Types of Swift and Foundation take precedence over those of modules that the file does not import.
      if path.count == 1, KnownTypes.meaning(of: path[0]) != nil { return nil }
    }
    return try single(found, name)
  }

  private func single(_ found: [IndexedType], _ name: String) throws(ResolutionFailure) -> IndexedType? {
    if found.count < 2 { return found.first }
    // Declarations of a type under several conditions are the same type in symbols.
    let kinds = Set(found.map { "\($0.nominal) \($0.kind)" })
    if kinds.count == 1 { return found[0] }
    throw ResolutionFailure(.ambiguousType(name, in: found.map { "\($0.file):\($0.line)" }))
  }

  /// Resolves a type nested in a type or in one of its superclasses.
  private func member(_ path: [String], of type: MangledNominal, _ depth: Int) throws(ResolutionFailure) -> IndexedType? {
    let own = type.path + "." + path.joined(separator: ".")
    if let found = try single(index.named(own, of: type.module, from: file, of: module), own) { return found }
    guard let declared = index.named(type.path, of: type.module, from: file, of: module).first else { return nil }
    return try member(path, of: declared, depth, asItsOwn: false)
  }

  private func member(
    _ path: [String], of type: IndexedType, _ depth: Int, asItsOwn: Bool = true
  ) throws(ResolutionFailure) -> IndexedType? {
    if depth > Self.maximumDepth { return nil }
    let there = TypeResolver(index: index, module: type.module, file: type.file, imports: imports)
    if case .alias(let syntax) = type.kind {
      guard case .named(let target, _) = syntax, let found = try there.lookUp(target, in: type.nominal.parent, depth + 1) else {
        return nil
      }
      return try member(path, of: found, depth + 1)
    }
    if asItsOwn {
      let own = type.nominal.path + "." + path.joined(separator: ".")
      if let found = try single(index.named(own, of: type.nominal.module, from: file, of: module), own) { return found }
    }
    guard case .named(let superclass, _)? = type.inherited.first,
      let above = try there.lookUp(superclass, in: type.nominal.parent, depth + 1), above.nominal != type.nominal
    else { return nil }
    return try member(path, of: above, depth + 1)
  }
}

/// The reason why a type cannot be resolved.
struct ResolutionFailure: Error {
  let reason: AccessorIssue.Reason
  init(_ reason: AccessorIssue.Reason) { self.reason = reason }
}
