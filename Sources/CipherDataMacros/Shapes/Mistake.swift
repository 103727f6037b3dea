// Mistake: what the compiler reports of the wrong use of a macro, where it is.

#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// A mistake in the use of a macro: where it is, what it is and what to do.
  struct Mistake: Error {
    private let node: Syntax
    private let text: String

    init(at node: some SyntaxProtocol, _ text: String) {
      self.node = Syntax(node)
      self.text = text
    }

    /// The mistake for the compiler.
    var diagnostic: Diagnostic { Diagnostic(node: node, message: Message(message: text)) }

    private struct Message: DiagnosticMessage {
      let message: String
      var diagnosticID: MessageID { MessageID(domain: "CipherData", id: "mistake") }
      var severity: DiagnosticSeverity { .error }
    }
  }

  extension Mistake {
    /// Runs something that may find a mistake; one is added to a list, and nil is the result.
    static func collecting<Result>(in mistakes: inout [Mistake], _ body: () throws -> Result?) rethrows -> Result? {
      do { return try body() } catch let mistake as Mistake {
        mistakes.append(mistake)
        return nil
      }
    }
  }
#endif
