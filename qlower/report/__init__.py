"""What qlower tells people: tables and pages."""
