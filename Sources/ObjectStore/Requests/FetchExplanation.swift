/// A description of how a fetch is executed: statements, query plans, indexes, and warnings.
///
/// ```swift
/// let explanation = try context.explain(Book.all.where { $0.pages > 500 })
/// print(explanation)
/// ```
///
/// Explaining a fetch does not execute it, and the explanation contains no constants of the request. The cost is that of preparing the
/// statements, plus reading the few rows that a store needs to choose between plans. ``description`` contains all parts; its warnings name
/// what makes the fetch slow.
public struct FetchExplanation: Sendable, Hashable {
  /// The way in which a store executes fetches.
  public enum Method: String, Sendable, Hashable {
    /// SQL statements.
    case sql = "SQL"
    /// Evaluation of all objects in memory, for stores without a query language.
    case memory = "in memory"
  }

  /// The way in which a step of a plan finds its rows.
  package enum Access: Sendable, Hashable {
    /// Reads all rows of a table.
    case scan
    /// Reads all rows of an index, in the order of the index.
    case indexScan
    /// Finds rows by an index or by their key.
    case search
    /// Sorts or groups rows.
    case sort
    /// Any other step.
    case other
  }

  /// An index, named as in the model.
  public struct Index: Sendable, Hashable {
    /// The reason why an index exists.
    package enum Origin: Sendable, Hashable {
      /// Declared in the model.
      case declared
      /// Required by a uniqueness constraint.
      case uniqueness
      /// Required by a relationship.
      case relationship
      /// The table itself, ordered by object key.
      case key
      /// Created by the store for this fetch only.
      case automatic
      /// A full-text index declared in the model.
      case fullText
    }
    package var origin: Origin
    /// The name of the entity.
    public var entityName: String
    /// The name of the declared index or of the relationship. Empty for other origins.
    public var name: String
    /// The indexed properties, most significant first.
    public var properties: [String]

    package init(origin: Origin, entityName: String, name: String = "", properties: [String] = []) {
      self.origin = origin
      self.entityName = entityName
      self.name = name
      self.properties = properties
    }
  }

  /// A step of a query plan, as reported by the database.
  public struct Step: Sendable, Hashable {
    /// The text of the query planner.
    public var detail: String
    package var access: Access
    /// The entity whose rows are read, or nil if they are not rows of one entity.
    public var entityName: String?
    /// The index that the step uses.
    public var index: Index?
    /// The steps that this step consists of, or that run for each of its rows.
    public var children: [Step]

    package init(detail: String, access: Access, entityName: String? = nil, index: Index? = nil, children: [Step] = []) {
      self.detail = detail
      self.access = access
      self.entityName = entityName
      self.index = index
      self.children = children
    }
  }

  /// A statement and its plan.
  public struct Statement: Sendable, Hashable {
    /// A short description of the purpose.
    public var purpose: String
    /// The SQL text, with placeholders for all values.
    public var text: String
    /// The types of the placeholders' values, in order. Never values.
    public var parameters: [String]
    /// The query plan.
    public var plan: [Step]

    /// Creates a statement.
    ///
    /// - Parameters:
    ///   - purpose: A short description of the purpose.
    ///   - text: The SQL text.
    ///   - parameters: The types of the placeholders' values.
    ///   - plan: The query plan.
    public init(purpose: String, text: String, parameters: [String] = [], plan: [Step] = []) {
      self.purpose = purpose
      self.text = text
      self.parameters = parameters
      self.plan = plan
    }
  }

  /// A part of a fetch whose cost grows with the number of objects.
  public struct Warning: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a warning.
    public enum Kind: Sendable, Hashable {
      /// All rows of a table or index are read to find some of them.
      case scan
      /// The results are sorted, because no index has their order.
      case sort
      /// The store creates an index for this fetch only.
      case automaticIndex
      /// Objects are compared in memory.
      case memory
    }
    /// The kind of the warning.
    public var kind: Kind
    /// The name of the entity concerned.
    public var entityName: String?
    /// The leading properties of an index that would help.
    public var properties: [String]
    /// A message that says what is slow and what would help.
    public var message: String

    /// Creates a warning.
    ///
    /// - Parameters:
    ///   - kind: The kind of the warning.
    ///   - entityName: The entity concerned.
    ///   - properties: The leading properties of an index that would help.
    ///   - message: A message that says what would help.
    public init(_ kind: Kind, entityName: String? = nil, properties: [String] = [], message: String) {
      self.kind = kind
      self.entityName = entityName
      self.properties = properties
      self.message = message
    }

    /// The message.
    public var description: String { message }
  }

  /// The part of a fetch that one store executes.
  public struct StorePart: Sendable, Hashable {
    /// The UUID of the store. Empty if the store was queried directly and not through a coordinator.
    public var storeIdentifier = ""
    /// The way in which the store executes fetches.
    public var method: Method
    /// The statements that the store runs.
    public var statements: [Statement]
    /// The parts whose cost grows with the number of objects.
    public var warnings: [Warning]

    /// Creates the part of a store.
    ///
    /// - Parameters:
    ///   - method: The way in which the store executes fetches.
    ///   - statements: The statements, in order.
    ///   - warnings: The parts whose cost grows with the number of objects.
    public init(method: Method, statements: [Statement] = [], warnings: [Warning] = []) {
      self.method = method
      self.statements = statements
      self.warnings = warnings
    }
  }

  /// The stores that execute the fetch, in the order of their results.
  public var stores: [StorePart]
  /// The comparing, sorting, and reading in memory that follows the stores' results, as one message each.
  public var inMemory: [String]

  package init(stores: [StorePart], inMemory: [String] = []) {
    self.stores = stores
    self.inMemory = inMemory
  }

  /// The statements of all stores.
  public var statements: [Statement] { stores.flatMap(\.statements) }
  /// The warnings of all stores.
  public var warnings: [Warning] { stores.flatMap(\.warnings) }

  /// The distinct indexes in the order of their first use.
  public var indexes: [Index] {
    var found: [Index] = []
    func visit(_ steps: [Step]) {
      for step in steps {
        if let index = step.index, !found.contains(index) { found.append(index) }
        visit(step.children)
      }
    }
    for statement in statements { visit(statement.plan) }
    return found
  }
}

extension FetchExplanation.Index: CustomStringConvertible {
  /// The origin, the entity, and the properties or name.
  public var description: String {
    switch origin {
    case .declared: "index “\(name)” of \(entityName) (\(properties.joined(separator: ", ")))"
    case .uniqueness: "uniqueness constraint of \(entityName) (\(properties.joined(separator: ", ")))"
    case .relationship: "relationship \(entityName).\(name)"
    case .key: "key of \(entityName)"
    case .automatic: "index made for this fetch over \(entityName)"
    case .fullText: "full-text index “\(name)” of \(entityName) (\(properties.joined(separator: ", ")))"
    }
  }
}

extension FetchExplanation: CustomStringConvertible {
  /// The explanation as lines of text: the statements of each store with their plans, then indexes, in-memory steps, and warnings.
  public var description: String {
    var lines: [String] = []
    func add(_ steps: [Step], depth: Int) {
      for step in steps {
        let index = step.index.map { "  [\($0)]" } ?? ""
        lines.append(String(repeating: "  ", count: depth) + "- " + step.detail + index)
        add(step.children, depth: depth + 1)
      }
    }
    for part in stores {
      if stores.count > 1 { lines.append("Store \(part.storeIdentifier)") }
      if part.method == .memory { lines.append("Answered in memory: the store has no query language") }
      for statement in part.statements {
        lines += ["Statement: \(statement.purpose)", "  " + statement.text]
        if !statement.parameters.isEmpty {
          lines.append("  " + statement.parameters.enumerated().map { "?\($0 + 1): \($1)" }.joined(separator: ", "))
        }
        if !statement.plan.isEmpty { lines.append("Plan") }
        add(statement.plan, depth: 1)
      }
    }
    func section(_ title: String, _ items: [String]) {
      guard !items.isEmpty else { return }
      lines.append(title)
      lines += items.map { "  - " + $0 }
    }
    section("Indexes", indexes.map(\.description))
    section("In memory", inMemory)
    section("Warnings", warnings.map(\.description))
    return lines.joined(separator: "\n")
  }
}
