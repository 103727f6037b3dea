// FetchExplanation: how a store answers a fetch: its statements, its plan, the indexes, and what makes it slow.

/// How a fetch is answered. Nothing was fetched to find out, and no constant of the request is in it.
///
/// ```swift
/// let explanation = try context.explain(Book.all.where { $0.pages > 500 })
/// print(explanation)
/// ```
///
/// The printed form shows all of it: statements, plans, indexes, and warnings of what makes the fetch slow. Asking costs as much as
/// preparing the statements, and the few rows that a store reads to choose between plans.
public struct FetchExplanation: Sendable, Hashable {
  /// What a store answers fetches with.
  public enum Method: String, Sendable, Hashable {
    /// Statements in SQL.
    case sql = "SQL"
    /// The store has no query language: it goes through its objects in memory.
    case memory = "in memory"
  }

  /// How a step of a plan finds its rows.
  package enum Access: Sendable, Hashable {
    /// It reads all rows of a table.
    case scan
    /// It reads all rows of an index, in the index's order.
    case indexScan
    /// It finds rows by an index or by their key.
    case search
    /// It sorts what was found, or gathers equal rows.
    case sort
    /// It does anything else.
    case other
  }

  /// An index, by the name that the model has for it.
  public struct Index: Sendable, Hashable {
    /// Why there is an index.
    package enum Origin: Sendable, Hashable {
      /// The model declares it.
      case declared
      /// A uniqueness constraint needs it.
      case uniqueness
      /// A relationship needs it.
      case relationship
      /// It is the table itself, by the objects' keys.
      case key
      /// The store makes it for this fetch, and forgets it afterwards.
      case automatic
      /// The model declares it, over the words of texts.
      case fullText
    }
    /// Why there is an index.
    package var origin: Origin
    /// The entity.
    public var entityName: String
    /// The declared name, or the relationship's; empty for other origins.
    public var name: String
    /// The properties that it orders by, most significant first.
    public var properties: [String]

    /// Makes an index.
    ///
    /// - Parameters:
    ///   - origin: Why there is the index.
    ///   - entityName: The entity whose rows it holds.
    ///   - name: Its name in the model.
    ///   - properties: The properties, most significant first.
    package init(origin: Origin, entityName: String, name: String = "", properties: [String] = []) {
      self.origin = origin
      self.entityName = entityName
      self.name = name
      self.properties = properties
    }
  }

  /// A step of a plan, as the store's planner tells it.
  public struct Step: Sendable, Hashable {
    /// The planner's own words.
    public var detail: String
    /// How rows are found.
    package var access: Access
    /// The entity whose rows are read; nil where they are not rows of one entity.
    public var entityName: String?
    /// The index that is used.
    public var index: Index?
    /// The steps of which this one consists, or that are done for each of its rows.
    public var children: [Step]

    /// Makes a step.
    ///
    /// - Parameters:
    ///   - detail: The database's own words.
    ///   - access: How rows are reached.
    ///   - entityName: The entity whose rows are reached.
    ///   - index: The index that helps.
    ///   - children: The steps inside it.
    package init(detail: String, access: Access, entityName: String? = nil, index: Index? = nil, children: [Step] = []) {
      self.detail = detail
      self.access = access
      self.entityName = entityName
      self.index = index
      self.children = children
    }
  }

  /// A statement.
  public struct Statement: Sendable, Hashable {
    /// What it is for, in a few words.
    public var purpose: String
    /// Its text, with placeholders for all values.
    public var text: String
    /// What the placeholders stand for, in order: types, never values.
    public var parameters: [String]
    /// Its plan.
    public var plan: [Step]

    /// Makes a statement.
    ///
    /// - Parameters:
    ///   - purpose: What the statement is for.
    ///   - text: Its SQL.
    ///   - parameters: What is bound to it.
    ///   - plan: The database's plan.
    public init(purpose: String, text: String, parameters: [String] = [], plan: [Step] = []) {
      self.purpose = purpose
      self.text = text
      self.parameters = parameters
      self.plan = plan
    }
  }

  /// Something that costs more as there are more objects.
  public struct Warning: Sendable, Hashable, CustomStringConvertible {
    /// What it is.
    public enum Kind: Sendable, Hashable {
      /// All rows of a table, or of an index, are read to find some.
      case scan
      /// The results are sorted, since no index has their order.
      case sort
      /// The store makes an index for this fetch only.
      case automaticIndex
      /// Objects are compared in memory.
      case memory
    }
    /// What it is.
    public var kind: Kind
    /// The entity concerned.
    public var entityName: String?
    /// The properties that an index could begin with.
    public var properties: [String]
    /// What it is, and what would help, in a sentence.
    public var message: String

    /// Makes a warning.
    ///
    /// - Parameters:
    ///   - kind: What costs time.
    ///   - entityName: The entity concerned.
    ///   - properties: The properties that an index would hold.
    ///   - message: A sentence that says what would help.
    public init(_ kind: Kind, entityName: String? = nil, properties: [String] = [], message: String) {
      self.kind = kind
      self.entityName = entityName
      self.properties = properties
      self.message = message
    }

    /// The message.
    public var description: String { message }
  }

  /// The part of one store.
  public struct StorePart: Sendable, Hashable {
    /// The store's UUID; empty where the store was not asked through a coordinator.
    public var storeIdentifier = ""
    /// What the store answers with.
    public var method: Method
    /// The statements that it runs.
    public var statements: [Statement]
    /// What costs more as there are more objects.
    public var warnings: [Warning]

    /// Makes a store's part.
    ///
    /// - Parameters:
    ///   - method: Where the fetch is answered.
    ///   - statements: The statements, in their order.
    ///   - warnings: What costs time.
    public init(method: Method, statements: [Statement] = [], warnings: [Warning] = []) {
      self.method = method
      self.statements = statements
      self.warnings = warnings
    }
  }

  /// The stores that are asked, in the order of their answers.
  public var stores: [StorePart]
  /// What is compared, sorted or read in memory beside the stores' answers, in a sentence each.
  public var inMemory: [String]

  /// Makes an explanation.
  package init(stores: [StorePart], inMemory: [String] = []) {
    self.stores = stores
    self.inMemory = inMemory
  }

  /// All statements.
  public var statements: [Statement] { stores.flatMap(\.statements) }
  /// All warnings.
  public var warnings: [Warning] { stores.flatMap(\.warnings) }

  /// The indexes used, each once, in the order of their use.
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
  /// The index in words.
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
  /// The explanation as lines of text: for each store its statements, each with its plan, then the indexes and the warnings.
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
