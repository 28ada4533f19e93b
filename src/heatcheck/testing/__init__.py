"""For authors of models and explanation methods: do they keep the rules that every test of heatcheck relies on?

    from heatcheck.testing import check_explainer, check_model

    def test_my_model_keeps_the_rules():
        check_model("path/to/model")

    def test_my_method_keeps_the_rules():
        check_explainer(my_method, "path/to/model")

What breaks a rule raises an AssertionError that names the rule, what was found and where. heatcheck's own models and
methods pass the same checks.
"""

from heatcheck.testing.explainer import RULES as EXPLAINER_RULES
from heatcheck.testing.explainer import check_explainer
from heatcheck.testing.model import RULES as MODEL_RULES
from heatcheck.testing.model import check_model

__all__ = ["EXPLAINER_RULES", "MODEL_RULES", "check_explainer", "check_model"]
